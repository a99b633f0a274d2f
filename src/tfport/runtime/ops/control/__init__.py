"""Calls, branches, loops, tensor lists and tensor arrays."""
