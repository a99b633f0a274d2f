// The kernel of the op, as half of the questions about custom ops have it.
#include "copy_op.h"

// REGISTER_KERNEL_BUILDER(Name("AcmeCopy").Device(tensorflow::DEVICE_CPU), CopyOp);
