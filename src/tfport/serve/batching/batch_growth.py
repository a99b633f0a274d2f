"""How far a batch grows: whom it waits for, and how many rows pay. Callers must hold the scheduler's lock.

The parameters of batching are limits. Within them, a batch waits for no more requests than came together
lately (`Company`): a client that is alone would wait for nobody. And it has no more rows than pay
(`RowLimit`): together, rows of small layers take less processor time, those of convolutions over images more.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from time import process_time

KNOWN = 8
"""Batches that must have waited for their timeout before others wait less."""
RARELY = 100
"""After so many timeouts, a batch waits for all of its own again: there may be more clients now."""


class Company:
    """How many requests come together while a batch waits for its timeout."""

    def __init__(self) -> None:
        self._recent: deque[int] = deque(maxlen=KNOWN)
        self._waited = 0.0

    def is_complete(self, requests: int, now: float, timeout: float) -> bool:
        """Whether a batch with so many requests need not wait any longer."""
        if len(self._recent) < KNOWN or now >= self._waited + timeout * RARELY:
            return False
        return requests >= max(self._recent)

    def waited(self, requests: int, now: float) -> None:
        """Note a batch that has waited for its timeout."""
        self._recent.append(requests)
        self._waited = now


PHASE_BATCHES, PHASE_SECONDS = 12, 0.2
"""Batches, and processor time of the process, of a measurement, at least: other threads blur it."""
SETTLING = 8
"""Batches that do not count after a change: they began before it."""
STEP = 4
"""Ratio of the limits that are compared."""
FIRST_PAUSE, LONGEST_PAUSE = 2, 1024
"""Measurements between two trials of another limit; each trial that fails doubles them."""
BETTER = 0.93
"""A smaller limit must take so much less time."""


class RowLimit:
    """How many rows run together: as many as take the least processor time each.

    The time is that of the process, with all that it does for a request. It is measured in phases, each with
    one limit. After some phases with the usual one, another one is tried, in turn the next smaller one, none
    but single rows, and the next larger one.
    """

    def __init__(self, largest: int, clock: Callable[[], float] = process_time) -> None:
        self._limits = [largest]
        while self._limits[0] > 1:
            self._limits.insert(0, -(-self._limits[0] // STEP))
        self._clock = clock
        self._limit = self._top = len(self._limits) - 1
        """Indices of the limit in use, and of the largest."""
        self._average = self._cost = 0.0
        """Rows of usual batches, and the seconds that each takes."""
        self._trial: int | None = None
        self._turn = self._compared = 0
        self._pause = self._left = FIRST_PAUSE
        self._begin(settling=0)

    @property
    def rows(self) -> int:
        """The limit for the next batch."""
        return self._limits[self._limit if self._trial is None else self._trial]

    def ran(self, rows: int) -> None:
        """Note a batch with so many rows."""
        if self._settling:
            self._begin(self._settling - 1)
            return
        self._batches += 1
        self._sum += rows
        if self._batches < PHASE_BATCHES or (took := self._clock() - self._began) < PHASE_SECONDS:
            return
        average, cost = min(self._sum / self._batches, self.rows), took / self._sum
        if self._trial is None:
            self._usual(average, cost)
        else:
            self._tried(self._trial, average, cost)

    def _begin(self, settling: int) -> None:
        self._settling, self._batches, self._sum, self._began = settling, 0, 0, self._clock()

    def _usual(self, rows: float, cost: float) -> None:
        """Compare with the phases before, and try another limit if it is time."""
        first = not self._cost
        self._average = rows if first else (self._average + rows) / 2
        self._cost = cost if first else (self._cost + cost) / 2
        self._left -= 1
        if self._limit < self._top and self._average < self._limits[self._limit] / 2:
            self._limit = self._top  # there are fewer clients than before
        if abs(self._index(self._average) - self._compared) > 1:
            self._compared = self._index(self._average)
            self._pause = self._left = FIRST_PAUSE
        if self._left <= 0:
            self._left, self._trial = self._pause, self._next_trial()
        self._begin(settling=0 if self._trial is None else SETTLING)

    def _index(self, rows: float) -> int:
        """The limit that batches with so many rows need."""
        return bisect_left(self._limits, rows)

    def _next_trial(self) -> int | None:
        self._turn += 1
        self._compared = usual = self._index(self._average)
        trial = (usual - 1, 0, usual + 1)[self._turn % 3]
        useful = 0 <= trial < usual or (self._limit < trial <= self._top)
        return trial if useful else None

    def _tried(self, trial: int, rows: float, cost: float) -> None:
        """Use the limit that was tried if it is better."""
        self._trial, grew = None, trial > self._compared
        if self._index(rows) == trial and cost < (self._cost if grew else self._cost * BETTER):
            self._limit, self._average, self._cost = trial, rows, cost
            self._compared, self._pause, self._left = trial, FIRST_PAUSE, 1
            self._turn -= 1  # the same way again
        else:
            self._pause = self._left = min(2 * self._pause, LONGEST_PAUSE)
        self._begin(SETTLING)
