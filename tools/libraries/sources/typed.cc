// An op of several types, and kernels for two of them.
#include "copy_op.h"
#include "tensorflow/core/framework/common_shape_fns.h"
#include "tensorflow/core/framework/op.h"

REGISTER_OP("AcmeTypedCopy")
    .Attr("T: {float, double, int32}")
    .Input("x: T")
    .Output("y: T")
    .SetShapeFn(tensorflow::shape_inference::UnchangedShape);

#define REGISTER(T)                                                                                  \
  REGISTER_KERNEL_BUILDER(                                                                           \
      Name("AcmeTypedCopy").Device(tensorflow::DEVICE_CPU).TypeConstraint<T>("T").HostMemory("x"), CopyOp)

REGISTER(double);
REGISTER(int);
