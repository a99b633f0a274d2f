"""What a model could do to the machine that loads it: files, network, Python, code; nothing is run."""
