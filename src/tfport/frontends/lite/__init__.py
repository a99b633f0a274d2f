"""The graphs of TensorFlow Lite files: every operator becomes ops of the one IR."""
