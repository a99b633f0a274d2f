"""How nodes of ONNX are written as operators of TensorFlow Lite, by family."""
