"""Passes over a traced program: what several steps or a loop compute together becomes one fast step."""
