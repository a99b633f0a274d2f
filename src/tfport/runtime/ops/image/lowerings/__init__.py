"""ONNX lowerings of the family `image`."""
