"""NumPy kernels of the family `atoms`."""
