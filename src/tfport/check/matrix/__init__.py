"""A model held against every recorded release at once."""
