"""Optimizers and boosted trees."""
