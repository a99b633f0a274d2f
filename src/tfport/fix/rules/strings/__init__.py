"""Rules for ops on strings, regular expressions and serialized Examples."""
