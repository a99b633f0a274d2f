"""Will a model load and run on a target, and if not, why? Reports; nothing here changes a graph."""
