"""What several steps compute together, where the engine has one node for it."""
