"""Shapes, slices, gathers, scatters and rearrangements of arrays."""
