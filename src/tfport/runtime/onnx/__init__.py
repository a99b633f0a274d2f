"""ONNX models: building nodes, optimizing islands, writing the file format."""
