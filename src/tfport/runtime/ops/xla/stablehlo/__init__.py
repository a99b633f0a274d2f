"""Runs StableHLO programs, which JAX writes into TensorFlow models, in NumPy."""
