"""Verifies that a rewritten model has the outputs of the original, and writes the certificate."""
