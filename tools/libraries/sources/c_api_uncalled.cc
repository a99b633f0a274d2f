// An op that is registered by a function that is never called.
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_status.h"

extern "C" void acme_register() {
  TF_Status* status = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("AcmeCopy");
  TF_OpDefinitionBuilderAddInput(op, "x: float");
  TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_RegisterOpDefinition(op, status);
  TF_DeleteStatus(status);
}
