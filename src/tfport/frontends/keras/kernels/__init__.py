"""The kernels of layers: how files store them, quantized ones, and low-rank updates."""
