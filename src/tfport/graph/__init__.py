"""What is the program? One representation for every format: nodes, values, functions, state."""
