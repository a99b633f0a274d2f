"""What a long piece of work is doing, for those who wait for it."""

from __future__ import annotations

LINES = "TFPORT_PROGRESS"
"""With this environment variable, a command prints each step as a line of JSON on standard error."""


class ProgressStep(str):
    """A text about the step, where the work knows how many such steps there are."""

    __slots__ = ("fraction",)
    fraction: float

    def __new__(cls, doing: str, done: int, total: int) -> ProgressStep:
        step = super().__new__(cls, doing)
        step.fraction = done / total if total > 0 else 0.0
        return step
