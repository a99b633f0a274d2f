"""NumPy kernels of the family `training`."""
