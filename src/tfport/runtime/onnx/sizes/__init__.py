"""What follows from the sizes of the inputs of an island, once these are known."""
