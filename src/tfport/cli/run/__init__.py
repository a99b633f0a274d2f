"""`tfport run`."""
