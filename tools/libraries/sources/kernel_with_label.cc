// A kernel that only nodes with this label get.
#include "copy_op.h"

REGISTER_KERNEL_BUILDER(Name("AcmeCopy").Device(tensorflow::DEVICE_CPU).Label("acme"), CopyOp);
