"""Build nodes: one builder, and what builders do with shapes, arrays and windows."""
