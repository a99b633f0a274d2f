"""The matrix as a self-contained HTML page; every name from a model is escaped."""
