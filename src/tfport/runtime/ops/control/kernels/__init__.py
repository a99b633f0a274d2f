"""NumPy kernels of the family `control`."""
