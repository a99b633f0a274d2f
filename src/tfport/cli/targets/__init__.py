"""The `tfport targets` command."""
