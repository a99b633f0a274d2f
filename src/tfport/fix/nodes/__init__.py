"""Nodes that rules build: the builder, and helpers for shapes, sizes, rows, loops and recurrent layers."""
