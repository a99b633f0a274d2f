"""NumPy kernels of the family `ragged`."""
