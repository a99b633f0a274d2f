"""Rules, one file per op family; each file's rules are found by `fix.rulebook`."""
