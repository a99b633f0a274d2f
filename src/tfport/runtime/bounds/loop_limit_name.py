"""The name of the step that limits a loop, from which the error of an engine is understood."""

from __future__ import annotations

from tfport.startup.late_pattern import late_pattern

_NAME = late_pattern(r":([^:']*)@at_most_(\d+)_iterations")


def limit_name(loop: str, most: int) -> str:
    """The name of the step that limits this loop."""
    return f"{loop}@at_most_{most}_iterations"


def limit_message(loop: str, most: int) -> str:
    """The error of a loop that has more iterations than it may."""
    return f"`{loop}`: the loop does not end within {most:,} iterations, the limit per run"


def limit_message_of(engine_error: str) -> str | None:
    """The error if an engine failed in such a step, else None."""
    match = _NAME.search(engine_error)
    return limit_message(match[1], int(match[2])) if match else None
