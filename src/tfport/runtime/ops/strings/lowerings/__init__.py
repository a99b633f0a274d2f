"""ONNX lowerings of the family `strings`, for exported files: `run` computes strings on the host."""
