"""Engines that run islands: ONNX Runtime, OpenVINO, or none."""
