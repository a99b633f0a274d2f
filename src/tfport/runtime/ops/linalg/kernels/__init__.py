"""NumPy kernels of the family `linalg`."""
