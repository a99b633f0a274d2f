"""Deadlines of runs that no event loop watches: one thread sets the signals of all of them.

    with deadline(None, seconds=5) as signal:
        session.run(["y:0"], feeds, stop=signal)

The thread starts with the first deadline and sleeps until the next one.
"""

from __future__ import annotations

import heapq
import itertools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from tfport.errors import DeadlineExceeded
from tfport.runtime.bounds.stop_signal import StopSignal


class DeadlineWatch:
    """A thread that sets signals when their time has come."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._next: list[tuple[float, int, float, StopSignal]] = []
        self._numbers = itertools.count()
        self._started = False

    def add(self, signal: StopSignal, seconds: float) -> int:
        """Set the signal in this many seconds; the number to remove it by."""
        with self._changed:
            if not self._started:
                threading.Thread(target=self._watch, name="tfport-deadlines", daemon=True).start()
                self._started = True
            number = next(self._numbers)
            heapq.heappush(self._next, (monotonic() + seconds, number, seconds, signal))
            if self._next[0][1] == number:
                self._changed.notify()
        return number

    def remove(self, number: int) -> None:
        """Forget a deadline; one that has passed is forgotten already."""
        with self._changed:
            self._next = [entry for entry in self._next if entry[1] != number]
            heapq.heapify(self._next)

    def _watch(self) -> None:
        while True:
            with self._changed:
                while not self._next or self._next[0][0] > monotonic():
                    self._changed.wait(self._next[0][0] - monotonic() if self._next else None)
                _, _, seconds, signal = heapq.heappop(self._next)
            signal.stop(DeadlineExceeded(f"the run was stopped after {seconds:g} seconds"))


_WATCH = DeadlineWatch()
os.register_at_fork(after_in_child=_WATCH.__init__)  # type: ignore[misc]  # a child has no such thread


@contextmanager
def deadline(outer: StopSignal | None, seconds: float) -> Iterator[StopSignal]:
    """A signal that is set with the outer one, and if the block takes longer."""
    signal = StopSignal()
    if outer is not None:
        outer.handle(signal, lambda: (signal, lambda: _pass_on(outer, signal)))
    number = _WATCH.add(signal, seconds)
    try:
        yield signal
    finally:
        _WATCH.remove(number)
        if outer is not None:
            outer.forget(signal)


def _pass_on(outer: StopSignal, inner: StopSignal) -> None:
    if outer.reason is not None:
        inner.stop(outer.reason)
