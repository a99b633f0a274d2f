"""Build nodes: one builder, and what builders do with shapes, arrays, products and loops over time."""
