"""ONNX lowerings of the family `lite`."""
