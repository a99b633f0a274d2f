"""What a model could do to the machine that runs it."""
