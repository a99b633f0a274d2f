"""NumPy kernels of the family `xla`."""
