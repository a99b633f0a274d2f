// What copy_op.h declares.
#include "copy_op.h"

CopyOp::CopyOp(tensorflow::OpKernelConstruction* context) : OpKernel(context) {}

void CopyOp::Compute(tensorflow::OpKernelContext* context) { context->set_output(0, context->input(0)); }
