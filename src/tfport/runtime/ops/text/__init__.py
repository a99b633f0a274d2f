"""Ops of TensorFlow Text: tokenizers, normalization, sentences, trimming and n-grams."""
