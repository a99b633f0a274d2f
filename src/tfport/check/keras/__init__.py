"""What the loader of a Keras release does with a Keras file: the errors it raises, and what it changes."""
