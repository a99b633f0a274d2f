"""NumPy kernels of the family `lite`."""
