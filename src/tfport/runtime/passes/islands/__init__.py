"""Passes over the ONNX nodes of an island, and of each branch and loop body in it."""
