"""TensorFlow ops, one folder per family: NumPy kernels, ONNX lowerings, shape rules and their helpers."""
