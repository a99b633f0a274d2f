// A kernel whose only function that is not inline was forgotten: its class has no vtable.
#include "tensorflow/core/framework/op_kernel.h"

class HollowOp : public tensorflow::OpKernel {
 public:
  explicit HollowOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {}
  void Compute(tensorflow::OpKernelContext* context) override;
};

REGISTER_KERNEL_BUILDER(Name("AcmeCopy").Device(tensorflow::DEVICE_CPU), HollowOp);
