"""Keras files: `.h5`, `.keras`, architectures in JSON, weights, and TensorFlow.js layers models."""
