"""Processes that read large request bodies, so that parsing does not block the server."""
