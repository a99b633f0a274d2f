"""While one thread captures a CUDA graph, no other thread of the process may use CUDA.

ONNX Runtime captures in CUDA's global mode: a copy, an allocation or a run in another thread ends the capture
with an error. So all that tfport does with a GPU is `running`, and a capture waits until nothing runs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager


class CaptureLock:
    """Any number of threads may run, or one may capture. What runs may run something else inside."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._running = self._waiting = 0
        self._captures = False
        self._depth = threading.local()
        self._while_running = _WhileRunning(self)

    def running(self) -> AbstractContextManager[None]:
        """Wait until nothing is captured; while the block runs, nothing is."""
        return self._while_running

    def begin(self) -> None:
        depth = getattr(self._depth, "value", 0)
        if not depth:
            with self._lock:
                while self._captures or self._waiting:
                    self._changed.wait()
                self._running += 1
        self._depth.value = depth + 1

    def end(self) -> None:
        self._depth.value = depth = self._depth.value - 1
        if not depth:
            with self._lock:
                self._running -= 1
                if self._waiting:
                    self._changed.notify_all()

    @contextmanager
    def capturing(self) -> Iterator[None]:
        """Wait until nothing else runs; what wants to run waits meanwhile.

        A thread may capture in the middle of what it runs: others may capture before it goes on.
        """
        depth = getattr(self._depth, "value", 0)
        with self._changed:
            if depth:
                self._running -= 1
                self._changed.notify_all()
            self._waiting += 1
            while self._captures or self._running:
                self._changed.wait()
            self._waiting -= 1
            self._captures = True
        self._depth.value = 1  # what the capture itself does
        try:
            yield
        finally:
            self._depth.value = depth
            with self._changed:
                self._captures = False
                if depth:
                    self._running += 1
                self._changed.notify_all()


class _WhileRunning(AbstractContextManager[None]):
    """The block of all that runs; it keeps nothing, so one object is enough."""

    def __init__(self, lock: CaptureLock) -> None:
        self._lock = lock

    def __enter__(self) -> None:
        self._lock.begin()

    def __exit__(self, *error: object) -> None:
        self._lock.end()


GPU_LOCK = CaptureLock()
"""The lock of this process, for all GPUs."""
