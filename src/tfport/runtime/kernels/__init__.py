"""TensorFlow ops in NumPy, one file per family: what ONNX cannot say, and odd types of what it can."""
