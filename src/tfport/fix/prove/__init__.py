"""Run a rewritten model in the real target: its wheel in a virtual environment of its own."""
