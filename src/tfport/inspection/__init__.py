"""Describe what is in a model, without judging it."""
