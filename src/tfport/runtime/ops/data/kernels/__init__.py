"""NumPy kernels of the family `data`."""
