"""A signal that asks runs to end. Any thread may set it, and any number of runs may watch it.

    signal = StopSignal()
    session.run(["y:0"], feeds, stop=signal)          in one thread
    signal.stop(RunCancelled("the client is gone"))   in another

A run looks at the signal before each step, and before each iteration of a loop on the host. An engine
cannot look while it computes; it registers what to call instead (`handle`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from tfport.errors import RunStopped

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
