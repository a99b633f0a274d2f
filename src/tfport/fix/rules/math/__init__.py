"""Rules for arithmetic, products, reductions, segments and counts."""
