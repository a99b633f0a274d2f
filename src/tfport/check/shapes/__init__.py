"""What TensorFlow infers about shapes when it imports a graph."""
