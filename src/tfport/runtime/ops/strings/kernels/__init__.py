"""NumPy kernels of the family `strings`."""
