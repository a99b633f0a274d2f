// The class of a kernel, defined in copy_op.cc.
#include "tensorflow/core/framework/op_kernel.h"

class CopyOp : public tensorflow::OpKernel {
 public:
  explicit CopyOp(tensorflow::OpKernelConstruction* context);
  void Compute(tensorflow::OpKernelContext* context) override;
};
