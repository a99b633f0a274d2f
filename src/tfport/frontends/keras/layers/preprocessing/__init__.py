"""Layers that prepare data: images, numbers, categories, words, sound."""
