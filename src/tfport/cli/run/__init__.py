"""The `tfport run` command."""
