"""Rules for ops that select, move, copy or reorder elements."""
