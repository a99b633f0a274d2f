"""NumPy kernels of the family `text`."""
