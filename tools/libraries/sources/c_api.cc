// An op and its kernel through the C API, which does not change with the compiler.
#include "tensorflow/c/kernels.h"
#include "tensorflow/c/ops.h"
#include "tensorflow/c/tf_status.h"
#include "tensorflow/c/tf_tensor.h"

static void compute(void* kernel, TF_OpKernelContext* context) {
  TF_Status* status = TF_NewStatus();
  TF_Tensor* x;
  TF_GetInput(context, 0, &x, status);
  TF_SetOutput(context, 0, x, status);
  TF_DeleteTensor(x);
  TF_DeleteStatus(status);
}

__attribute__((constructor)) static void register_op() {
  TF_Status* status = TF_NewStatus();
  TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("AcmeCopy");
  TF_OpDefinitionBuilderAddInput(op, "x: float");
  TF_OpDefinitionBuilderAddOutput(op, "y: float");
  TF_RegisterOpDefinition(op, status);
  TF_DeleteStatus(status);
}

#ifdef AS_PLUGINS_DO
extern "C" void TF_InitKernel() {
#else
__attribute__((constructor)) static void register_kernel() {
#endif
  TF_Status* status = TF_NewStatus();
  TF_KernelBuilder* kernel = TF_NewKernelBuilder("AcmeCopy", "CPU", nullptr, compute, nullptr);
  TF_RegisterKernelBuilder("AcmeCopyKernel", kernel, status);
  TF_DeleteStatus(status);
}
