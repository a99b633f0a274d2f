"""NumPy kernels of the family `array`."""
