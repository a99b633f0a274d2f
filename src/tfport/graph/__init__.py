"""The intermediate representation of every model format: nodes, values, functions, state."""
