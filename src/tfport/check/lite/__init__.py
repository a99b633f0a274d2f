"""Check TensorFlow Lite files on interpreters."""
