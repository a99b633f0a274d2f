"""NumPy kernels of the family `random`."""
