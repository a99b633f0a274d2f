"""Passes over loops of ONNX, whose nodes take time in each iteration."""
