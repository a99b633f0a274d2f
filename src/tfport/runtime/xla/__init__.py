"""Ops of XLA, and the modules of StableHLO that JAX puts into TensorFlow models."""
