"""ONNX lowerings of the family `math`."""
