"""Zip and tar files as trees of files."""
