"""How a command tells the server that started it what it is doing."""

LINES = "TFPORT_PROGRESS"
"""With this environment variable, a command prints each step as a line of JSON on standard error."""
