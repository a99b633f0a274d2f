"""What the TensorFlow Lite interpreters register."""
