"""`tfport ops`."""
