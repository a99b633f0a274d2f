"""Batching: run requests of several clients together."""
