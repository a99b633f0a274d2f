"""NumPy kernels of the family `tables`."""
