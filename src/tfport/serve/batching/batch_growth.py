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


PHASE_BATCHES, PHASE_SECONDS = 2, 0.05
"""Batches, and processor time of the process, of a measurement, at least."""
SETTLING = 2
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
        self._reached, self._cost = -1, 0.0
        """The limit that usual batches need, and the seconds per row that they take."""
        self._trial: int | None = None
        self._turn = 0
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
        reached = bisect_left(self._limits, min(self._sum / self._batches, self.rows))
        if self._trial is None:
            self._usual(reached, took / self._sum)
        else:
            self._tried(self._trial, reached, took / self._sum)

    def _begin(self, settling: int) -> None:
        self._settling, self._batches, self._sum, self._began = settling, 0, 0, self._clock()

    def _usual(self, reached: int, cost: float) -> None:
        """Compare with the phases before, and try another limit if it is time."""
        if reached == self._reached:
            self._cost = (self._cost + cost) / 2
            self._left -= 1
        else:  # there are more clients than before, or fewer
            self._reached, self._cost = reached, cost
            self._limit = self._top if reached < self._limit else self._limit
            self._pause = self._left = FIRST_PAUSE
        if self._left <= 0:
            self._left, self._trial = self._pause, self._next_trial()
        self._begin(settling=0 if self._trial is None else SETTLING)

    def _next_trial(self) -> int | None:
        self._turn += 1
        trial = (self._reached - 1, 0, self._reached + 1)[self._turn % 3]
        useful = 0 <= trial < self._reached or (self._limit < trial <= self._top)
        return trial if useful else None

    def _tried(self, trial: int, reached: int, cost: float) -> None:
        """Use the limit that was tried if it is better."""
        self._trial = None
        grew = reached > self._reached
        if reached == trial and cost < (self._cost if grew else self._cost * BETTER):
            self._limit, self._reached, self._cost = trial, reached, cost
            self._pause, self._left = FIRST_PAUSE, 1
            self._turn -= 1  # the same way again
        else:
            self._pause = self._left = min(2 * self._pause, LONGEST_PAUSE)
        self._begin(SETTLING)
