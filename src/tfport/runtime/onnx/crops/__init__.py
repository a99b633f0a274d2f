"""Compute only what a crop at the end of a stack of layers leaves."""
