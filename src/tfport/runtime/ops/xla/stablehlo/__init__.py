"""StableHLO in NumPy: what the programs that JAX puts into TensorFlow models answer."""
