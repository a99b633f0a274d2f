"""Nodes whose kernel in ONNX Runtime is slow, in forms that it computes faster."""
