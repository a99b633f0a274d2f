"""`tfport lib`."""
