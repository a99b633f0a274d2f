"""The `tfport check` command."""
