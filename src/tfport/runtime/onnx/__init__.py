"""What is said in ONNX: how it is built, made better and written."""
