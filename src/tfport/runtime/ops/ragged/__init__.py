"""Ragged tensors."""
