"""Strings, regular expressions, hashes and Unicode."""
