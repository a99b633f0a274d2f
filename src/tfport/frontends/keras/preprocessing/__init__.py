"""Vocabularies, categories and sizes of images, for the layers that prepare data."""
