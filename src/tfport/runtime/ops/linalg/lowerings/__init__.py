"""ONNX lowerings of the family `linalg`."""
