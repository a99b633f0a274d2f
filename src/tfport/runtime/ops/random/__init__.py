"""Random numbers, bit for bit as TensorFlow draws them."""
