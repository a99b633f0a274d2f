"""The `tfport lib` command."""
