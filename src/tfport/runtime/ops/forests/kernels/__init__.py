"""NumPy kernels of the family `forests`."""
