"""The `tfport` command: it parses arguments, calls the Python API and prints the result."""
