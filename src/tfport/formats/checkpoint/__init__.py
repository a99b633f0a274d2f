"""Checkpoints: V2 (tensor bundles) and V1."""
