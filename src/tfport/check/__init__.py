"""Check whether a model loads and runs on a target, and report why not. Nothing here changes a graph."""
