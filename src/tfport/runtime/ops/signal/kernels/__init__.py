"""NumPy kernels of the family `signal`."""
