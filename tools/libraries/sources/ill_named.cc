// An op whose name TensorFlow does not accept.
#include "tensorflow/core/framework/op.h"

REGISTER_OP("acme_copy").Input("x: float").Output("y: float");
