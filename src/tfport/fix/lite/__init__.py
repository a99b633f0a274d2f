"""Rewrite TensorFlow Lite files for older interpreters."""
