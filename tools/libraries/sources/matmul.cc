// An op that TensorFlow has, defined otherwise.
#include "tensorflow/core/framework/op.h"

REGISTER_OP("MatMul").Input("x: float").Output("y: float");
