"""Conversions of whole structures: calls, branches, loops, lists, tables, variables, signatures.

`restructure` decides which of them a target needs.
"""
