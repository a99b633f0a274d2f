"""Element-wise math, reductions, matrix products and segments."""
