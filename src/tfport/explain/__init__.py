"""Explain error messages and logs with what the atlas records."""
