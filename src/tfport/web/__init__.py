"""Pages for people, over what the other layers found out."""
