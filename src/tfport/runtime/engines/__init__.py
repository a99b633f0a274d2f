"""What runs islands: ONNX Runtime, OpenVINO, or nothing at all."""
