"""The layout of text reports, without importing `rich`."""
