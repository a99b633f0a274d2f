"""`tfport check`."""
