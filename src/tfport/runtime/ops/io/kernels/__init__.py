"""NumPy kernels of the family `io`."""
