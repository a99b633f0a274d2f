"""Compare two environments: the differences that a model or an op library would notice."""
