"""How a person sees it in a terminal: one small file per command over the Python API."""
