"""NumPy kernels of the family `sparse`."""
