"""The requests of the API, by subject."""
