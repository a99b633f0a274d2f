"""Helpers that several families use."""
