"""Equivalents of operators that an interpreter does not have, one file for each family."""
