"""NumPy kernels of the family `nn`."""
