"""Bounds on a run: a signal that stops it, a deadline, and limits on memory and on loop iterations."""
