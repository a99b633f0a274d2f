"""Quantized types and fake quantization."""
