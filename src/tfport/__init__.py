"""Take any TensorFlow model to any runtime."""
