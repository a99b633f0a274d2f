"""What is in a model? It describes; it does not judge."""
