"""Keras files, TensorFlow Lite files and StableHLO modules as graphs, as their makers meant them."""
