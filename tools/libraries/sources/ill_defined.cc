// An op whose input has an attribute for its type that is not there.
#include "tensorflow/core/framework/op.h"

REGISTER_OP("AcmeCopy").Input("x: T").Output("y: T");
