"""Builds the nodes of a rewrite: shapes, sizes, loops and recurrent layers as nodes."""
