"""Return memory to the system that only an earlier load needed.

The tensors of a run are in memory that later runs use again, because asking the system for it takes up to a
tenth of the processor time of a run. But a batch of 64 images needs half a gigabyte, and the next such batch
may never come. So the server looks every few seconds whether its memory has grown, and then returns what is
not in use: under a steady load, only the next run after that takes longer. Less is returned after a minute,
unless it is what remained the last time. What the C library keeps between requests is returned sooner than
what an engine keeps for its runs, as it grows with every kind of request: each of its many heaps keeps what
the largest requests needed that met in it.
"""

from __future__ import annotations

import asyncio
import gc
import itertools
import time
from collections.abc import Callable
from pathlib import Path

from tfport.runtime.freed_memory import return_freed_memory, return_heap_ends, return_heaps

HEAP_SECONDS = 2.0
"""Interval of checks of what the C library keeps."""
HEAP_CHECKS = 5
"""Every fifth of them is a check of everything."""
GROWTH = 64 << 20
"""Bytes that are worth returning."""
HEAP_GROWTH = 16 << 20
"""Bytes that the C library may keep."""
MOST_CHECKS = 3
"""Checks of everything after which it is asked again: what runs needed when it was asked may be free now."""
KEPT_CHECKS = 6
"""Checks of everything for which an engine may keep what some runs needed: a minute."""
IDLE_SECONDS = 0.2
"""Processor time between two checks of a server that answers nothing."""
_STATUS = Path("/proc/self/status")


def resident_bytes() -> int:
    """The memory of this process that no file backs; 0 where the system does not say."""
    try:
        return int(_STATUS.read_bytes().partition(b"RssAnon:")[2].split()[0]) << 10
    except (OSError, IndexError, ValueError):
        return 0


def return_all() -> None:
    """Return what engines and the C library keep."""
    return_freed_memory()
    return_heap_ends()


def return_whole_heaps() -> None:
    """Return what the C library keeps."""
    return_heaps()
    return_heap_ends()


class UnusedMemory:
    """Returns memory if the process has more than it had when it was last idle."""

    def __init__(
        self,
        give: Callable[[], None] = return_all,
        give_heaps: Callable[[], None] = return_whole_heaps,
        resident: Callable[[], int] = resident_bytes,
        processor_time: Callable[[], float] = time.process_time,
    ) -> None:
        self._give, self._give_heaps, self._resident = give, give_heaps, resident
        self._processor_time = processor_time
        self._needed, self._used = resident(), processor_time()
        self._returned = self._needed
        """The least memory since something was returned last."""
        self._kept, self._kept_checks = self._needed, 0
        """The least memory since everything was returned last, and the checks since then."""
        self._checks = 0
        """Checks since then."""

    async def run(self, seconds: float = HEAP_SECONDS) -> None:
        for number in itertools.count(1):
            await asyncio.sleep(seconds)
            await asyncio.to_thread(self.check_heaps if number % HEAP_CHECKS else self.check)

    def check(self) -> None:
        """Return what is unused, if there may be much of it."""
        used = self._processor_time()
        is_idle, self._used = used - self._used < IDLE_SECONDS, used
        self._checks += 1
        self._kept_checks += 1
        now = self._resident()
        if now > self._needed + GROWTH:
            self._return_everything(is_idle)
        elif self._checks >= MOST_CHECKS and now > self._needed + HEAP_GROWTH:
            self._return_heaps()
        else:
            self.check_heaps()
        if self._kept_checks >= KEPT_CHECKS and self._resident() > self._kept + HEAP_GROWTH:
            self._return_everything(is_idle)

    def check_heaps(self) -> None:
        """Return what the C library keeps, if that has grown."""
        now = self._resident()
        self._returned, self._kept = min(self._returned, now), min(self._kept, now)
        if now > self._returned + HEAP_GROWTH:
            self._return_heaps()

    def _return_everything(self, is_idle: bool) -> None:
        gc.collect()  # answers in reference cycles are in the memory of runs; models are not searched
        self._give()
        self._returned = self._kept = self._resident()
        if is_idle:  # runs in progress would need more than remains
            self._needed = self._kept
        self._checks = self._kept_checks = 0

    def _return_heaps(self) -> None:
        self._give_heaps()
        self._returned, self._checks = self._resident(), 0
