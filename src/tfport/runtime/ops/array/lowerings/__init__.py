"""ONNX lowerings of the family `array`."""
