"""Custom ops: those of interpreters and of MediaPipe, and TensorFlow's own."""
