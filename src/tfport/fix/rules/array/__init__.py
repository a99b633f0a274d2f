"""Rules for ops that select, move or reshape elements."""
