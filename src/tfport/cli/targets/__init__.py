"""`tfport targets`."""
