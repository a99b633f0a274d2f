"""Ops that only TensorFlow Lite has."""
