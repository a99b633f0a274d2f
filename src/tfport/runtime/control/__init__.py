"""Branches, loops and the lists that they fill."""
