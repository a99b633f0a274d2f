"""Linear algebra: decompositions, solves, matrix functions and diagonals."""
