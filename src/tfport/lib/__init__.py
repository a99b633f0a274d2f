"""Diagnose why a custom-op library does not load, from its file alone; it is never loaded."""
