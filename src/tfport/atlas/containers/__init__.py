"""Container images and Dockerfiles: what they contain, from their names and texts."""
