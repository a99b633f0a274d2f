"""Special functions as formulas, evaluated on arrays by kernels and written as nodes by rewrite rules."""
