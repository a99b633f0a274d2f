"""Subclassed models, custom layers and plain graphs as functional Keras models."""
