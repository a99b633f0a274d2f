"""NumPy kernels of the family `quantized`."""
