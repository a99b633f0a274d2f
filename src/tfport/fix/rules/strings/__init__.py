"""Rules for ops on strings, and for parsing."""
