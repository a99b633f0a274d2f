"""Patterns: several nodes of an island that are replaced by one node with an engine kernel."""
