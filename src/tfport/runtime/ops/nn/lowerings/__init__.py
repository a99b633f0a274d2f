"""ONNX lowerings of the family `nn`."""
