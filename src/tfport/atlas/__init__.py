"""Recorded registries of real TensorFlow builds, and queries on them."""
