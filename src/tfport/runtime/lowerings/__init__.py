"""TensorFlow ops said in ONNX, one file per family."""
