"""Neural networks: convolution, pooling, normalization, activations, recurrent layers, CTC."""
