// The kernel of the op.
#include "copy_op.h"

REGISTER_KERNEL_BUILDER(Name("AcmeCopy").Device(tensorflow::DEVICE_CPU), CopyOp);
