"""The errors of a simulated loader, in the order in which Keras would meet them.

A simulated loader returns a list of `Raised`: the first is what the real loader raises, the others
are what it would raise next. Code around a failing part wraps the text, as the real code does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tfport.check.findings.keras_files import KerasFileFinding
from tfport.startup.dataclass import dataclass, replace

VALUE_ERROR, TYPE_ERROR, ATTRIBUTE_ERROR = "ValueError", "TypeError", "AttributeError"


@dataclass(frozen=True)
class Raised:
    """An exception: its type, its text, and the finding for it."""

    error: str
    text: str
    finding: KerasFileFinding

    def wrapped(self, error: str, text: str) -> Raised:
        """The exception that is raised in its place."""
        return replace(self, error=error, text=text)

    def reported(self) -> KerasFileFinding:
        """The finding with the text of the loader."""
        self.finding.says_text = f"{self.error}: {self.text}" if self.text else ""
        return self.finding


def wrap(
    raised: Iterable[Raised], error: str, text: Callable[[str], str], only: str | None = None
) -> list[Raised]:
    """Errors wrapped by one handler; `only` names the type that it catches."""
    return [r.wrapped(error, text(r.text)) if only in (None, r.error) else r for r in raised]
