/* Needs a function of TensorFlow's C API in the version that it was linked to. */
#ifdef IF_THERE
__attribute__((weak))
#endif
void* TF_NewStatus(void);

void* acme_status(void) { return &TF_NewStatus ? TF_NewStatus() : 0; }
