"""NumPy kernels of the family `math`."""
