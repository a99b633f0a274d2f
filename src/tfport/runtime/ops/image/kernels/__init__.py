"""NumPy kernels of the family `image`."""
