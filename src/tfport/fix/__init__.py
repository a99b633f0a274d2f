"""Rewrites a model so that a target accepts it, and verifies that the outputs agree."""
