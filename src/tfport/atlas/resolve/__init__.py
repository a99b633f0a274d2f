"""Resolve the text that names a target."""
