"""What keeps commands instant."""
