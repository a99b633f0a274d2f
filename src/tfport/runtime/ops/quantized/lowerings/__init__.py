"""ONNX lowerings of the family `quantized`."""
