"""The `tfport ops` command."""
