"""The matrix as one self-contained page; every name from a model is escaped."""
