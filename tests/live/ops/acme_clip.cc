// An op for TensorFlow itself: `tfport lib build --for tensorflow==X` compiles it.
#include <algorithm>
#include <string>

#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
#include "tensorflow/core/framework/shape_inference.h"

REGISTER_OP("AcmeClip")
    .Attr("T: {float, double}")
    .Attr("most: float = 1.0")
    .Input("x: T")
    .Output("y: T")
    .SetShapeFn([](tensorflow::shape_inference::InferenceContext* c) {
      c->set_output(0, c->input(0));
      return tensorflow::Status();
    });

template <typename T>
class AcmeClip : public tensorflow::OpKernel {
 public:
  explicit AcmeClip(tensorflow::OpKernelConstruction* construction) : OpKernel(construction) {
    OP_REQUIRES_OK(construction, construction->GetAttr("most", &most_));
  }
  void Compute(tensorflow::OpKernelContext* context) override {
    const tensorflow::Tensor& x = context->input(0);
    OP_REQUIRES(context, most_ >= 0, tensorflow::errors::InvalidArgument("most is ", most_, " in ", std::string(name())));
    tensorflow::Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, x.shape(), &y));
    auto from = x.flat<T>();
    auto to = y->flat<T>();
    for (int64_t i = 0; i < from.size(); ++i) to(i) = std::min<T>(from(i), most_);
  }

 private:
  float most_;
};

REGISTER_KERNEL_BUILDER(Name("AcmeClip").Device(tensorflow::DEVICE_CPU).TypeConstraint<float>("T"), AcmeClip<float>);
REGISTER_KERNEL_BUILDER(Name("AcmeClip").Device(tensorflow::DEVICE_CPU).TypeConstraint<double>("T"), AcmeClip<double>);
