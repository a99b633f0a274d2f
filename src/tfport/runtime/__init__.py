"""What are the answers? ONNX islands on an inference engine, host kernels between them."""
