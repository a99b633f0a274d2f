"""Files, Examples, protocol buffers, CSV, JSON and serialized tensors."""
