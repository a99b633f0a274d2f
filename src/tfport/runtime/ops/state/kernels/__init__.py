"""NumPy kernels of the family `state`."""
