"""What is this model, and what will go wrong with it? Reports; nothing here changes a graph."""
