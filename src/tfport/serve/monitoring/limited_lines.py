"""Limit how many similar lines are logged: clients that are refused must not be able to fill a disk.

Of each kind of line, `MOST` are logged in `SECONDS`; then one line has the number of those left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

MOST = 10
SECONDS = 10.0


class LimitedLines:
    """Counts lines by kind and drops those beyond the limit."""

    def __init__(self, report: Callable[[str, int], None], *, seconds: float = SECONDS) -> None:
        """`report` logs how many lines of a kind were left out."""
        self._report, self._seconds = report, seconds
        self._counts: dict[str, int] = {}

    def allows(self, kind: str) -> bool:
        """Whether a line may be logged; must be called in the event loop."""
        count = self._counts.get(kind, 0)
        if count == 0:
            asyncio.get_running_loop().call_later(self._seconds, self._end_of_interval, kind)
        self._counts[kind] = count + 1
        return count < MOST

    def flush(self) -> None:
        """Report everything that was left out until now."""
        for kind in list(self._counts):
            self._end_of_interval(kind)

    def _end_of_interval(self, kind: str) -> None:
        if (left_out := self._counts.pop(kind, 0) - MOST) > 0:
            self._report(kind, left_out)
