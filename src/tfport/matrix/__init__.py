"""Check a model on every recorded release at once."""
