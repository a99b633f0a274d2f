"""Keras models as graphs of TensorFlow ops, with the meaning of the Keras version that saved them."""
