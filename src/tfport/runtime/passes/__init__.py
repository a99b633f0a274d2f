"""Passes: what is rewritten between a traced model and the models that an engine compiles."""
