"""Run models: ONNX islands on an inference engine, host kernels between them."""
