"""How many rows a call of the model should have: measured with the rows of the job, within a memory bound.

    sizes = BatchSizes(max_bytes=2**30)
    sizes.rows                                  for the next call
    with sizes.measured(rows): call()

Sizes double as long as a row takes less time in a larger call and the memory of a call stays within the
bound. Then those that were nearly as fast take turns; the smallest of the fastest is kept. The median of a
size's calls counts, so that neither what else ran for a moment decides nor a few cheap rows, which a small
call is more likely to have. Time is processor time: on a machine with other work, wall time says little,
and one interrupted call would keep a job at small calls. Wall time counts if calls wait for a GPU or a
server. Memory is the growth of the process at its peak, where the system says so (Linux).
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

FIRST, LARGEST = 8, 8192
TRIES, TURNS = 2, 3
"""Calls of each size while sizes grow, and more of those that take turns."""
BETTER = 0.97
"""A larger call must take so much less time per row."""
MOST_WORSE = 2
"""After so many sizes that are not better, sizes do not grow."""
MOST_SHORT = 8
"""After so many parts of the table that are shorter than a call, sizes do not grow."""
CLOSE = 1.25
"""Sizes that took up to so many times the time of the fastest one take turns."""
MOST_BYTES = 1 << 30
SHARE = 4
"""A call may use this part of the memory that is available: one in so many."""
_MEMORY = Path("/proc/self/status")
_PEAK = Path("/proc/self/clear_refs")


class BatchSizes:
    """The size of the next call."""

    def __init__(self, max_bytes: int = 0, rows: int = 0, share: int = 1, *, waits: bool = False) -> None:
        """`rows`: a fixed size. `share`: processes that share the memory. `waits`: for a GPU or a server."""
        self._clock = time.perf_counter if waits else time.process_time
        self.max_bytes = max_bytes or min(MOST_BYTES, (available_bytes() or MOST_BYTES) // SHARE) // max(
            share, 1
        )
        self.rows = rows or 1
        self.is_decided = rows > 0
        self._seconds: dict[int, list[float]] = {}
        """Seconds per row of each size's calls."""
        self._waiting: list[int] = []
        """The sizes of the next calls."""
        self._takes_turns = False
        self._short = 0
        self._bytes_per_row = 0.0
        self._is_cold = True

    @contextmanager
    def measured(self, rows: int) -> Iterator[None]:
        """Measure a call with so many rows."""
        if self.is_decided:
            yield
            return
        before, started = reset_peak(), self._clock()
        yield
        self._note(rows, self._clock() - started, peak_bytes() - before if before else 0)

    def _note(self, rows: int, seconds: float, grown: int) -> None:
        if self._is_cold:  # the first call makes the plan
            self._is_cold, self.rows, self._waiting = False, FIRST, [FIRST] * TRIES
            self._bytes_per_row = 0.0
            return
        if rows < self.rows:  # the rest of a part, or all of a short one
            self._short += rows >= max(self._seconds, default=LARGEST)
            if self._short < MOST_SHORT:
                return
            self._waiting = self._turns()
        else:
            self._short = 0
            self._bytes_per_row = max(self._bytes_per_row, grown / rows)
            self._seconds.setdefault(rows, []).append(seconds / rows)
            self._waiting = self._waiting[1:] or self._next_sizes(rows * 2)
        self.is_decided = not self._waiting
        self.rows = self._best() if self.is_decided else self._waiting[0]

    def _next_sizes(self, larger: int) -> list[int]:
        """What to measure next; nothing if that is enough."""
        best = self._best()
        worse = [size for size in self._seconds if size > best]
        too_large = larger > LARGEST or larger * self._bytes_per_row > self.max_bytes
        if self._takes_turns or len(worse) >= MOST_WORSE or too_large:
            return self._turns()
        return [larger] * TRIES

    def _turns(self) -> list[int]:
        """The sizes that were nearly as fast as the fastest one, several times; nothing the second time."""
        if self._takes_turns:
            return []
        self._takes_turns, medians = True, self._medians()
        most = CLOSE * min(medians.values())
        return [size for size, seconds in medians.items() if seconds <= most] * TURNS

    def _best(self) -> int:
        """The smallest size that is about as fast as the fastest one."""
        medians = self._medians()
        fastest = min(medians.values())
        return min(size for size, seconds in medians.items() if seconds * BETTER <= fastest)

    def _medians(self) -> dict[int, float]:
        """Seconds per row of each size; the lower ones of two calls."""
        return {size: statistics.median_low(seconds) for size, seconds in self._seconds.items()}

    def ran_out_of_memory(self, rows: int) -> None:
        """A call with so many rows was too large: use half of it from now on."""
        self.rows = max(rows // 2, 1)
        self.is_decided = True


def reset_peak() -> int:
    """Begin to measure the peak of this process; return its memory now, 0 where that is unknown."""
    with suppress(OSError):
        _PEAK.write_text("5", encoding="utf-8")
        return _field("VmRSS")
    return 0


def peak_bytes() -> int:
    return _field("VmHWM")


def _field(name: str) -> int:
    for line in _MEMORY.read_text("utf-8").splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0


def available_bytes() -> int:
    """The memory that this machine, or this container, has left; 0 where that is unknown."""
    left = []
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text("utf-8").splitlines()
        left += [int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable")]
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        left.append(
            int((group / "memory.max").read_text("utf-8"))
            - int((group / "memory.current").read_text("utf-8"))
        )
    if not left:
        with suppress(OSError, ValueError):
            left.append(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return max(min(left, default=0), 0)
