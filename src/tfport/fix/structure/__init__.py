"""Branches, loops and lists said in another way; whether a target needs that is decided elsewhere."""
