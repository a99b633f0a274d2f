"""Why does a custom-op library not load? Found out from its file, without loading it."""
