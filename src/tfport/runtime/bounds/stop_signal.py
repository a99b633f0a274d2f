"""A signal that asks runs to end. Any thread may set it, and any number of runs may watch it.

    signal = StopSignal()
    session.run(["y:0"], feeds, stop=signal)          in one thread
    signal.stop(RunCancelled("the client is gone"))   in another

A run looks at the signal before each step, and before each iteration of a loop on the host. An engine
cannot look while it computes; it registers what to call instead (`handle`).

`deadline` sets the signal of a run that no event loop watches. One thread does so for all of them: it starts
with the first deadline and sleeps until the next one.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from tfport.errors import DeadlineExceeded, RunStopped
from tfport.operating_system import after_fork

StopHandle = tuple[Any, Callable[[], None]]
"""What an engine computes with, and the function that stops it."""


class StopSignal:
    """Whether runs must end, and why."""

    __slots__ = ("_handles", "_lock", "reason")

    def __init__(self) -> None:
        self.reason: RunStopped | None = None
        self._lock = threading.Lock()
        self._handles: dict[object, StopHandle] = {}

    def stop(self, reason: RunStopped) -> None:
        """End the runs with this error; the first reason counts."""
        with self._lock:
            if self.reason is not None:
                return
            self.reason = reason
            actions = [stop for _, stop in self._handles.values()]
        for action in actions:
            action()

    def check(self) -> None:
        """Raise the reason if the signal is set."""
        if (reason := self.reason) is not None:
            raise type(reason)(*reason.args)

    def handle(self, key: object, make: Callable[[], StopHandle]) -> Any:
        """What an engine computes with, made at its first use; it is stopped together with the runs."""
        entry = self._handles.get(key)
        if entry is None:
            with self._lock:
                entry = self._handles[key] = make()
            self.check()  # it may have been set before the handle was known
        return entry[0]

    def forget(self, key: object) -> None:
        """Drop the handle of work that has ended."""
        with self._lock:
            self._handles.pop(key, None)


NEVER = StopSignal()
"""A signal that nobody sets, for runs without bounds."""


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
after_fork(_WATCH.__init__)  # type: ignore[misc]  # a child has no such thread


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
