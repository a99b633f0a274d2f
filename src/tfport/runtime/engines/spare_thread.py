"""A second thread for work that does not need Python: an engine that computes one loop beside another.

    wait = beside(work)      the spare thread begins with it, if it is free
    other_work()
    result = wait()          what it returned or raised; if it was not free, this thread does it now

There is one such thread in a process: it serves whoever comes first, so that busy servers have no more
threads than calls.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any

from tfport.operating_system import after_fork

Work = Callable[[], Any]


def beside(work: Work) -> Work:
    """Begin work in the spare thread; the function that waits for its result, or does it."""
    return _SPARE.begin(work) or work


class SpareThread:
    """The thread, which begins with the first work."""

    def __init__(self) -> None:
        self._is_free = threading.Lock()
        """Held while it works."""
        self._next: SimpleQueue[_Handed] = SimpleQueue()
        self._started = False

    def begin(self, work: Work) -> Work | None:
        """The function that waits for the result of work that was begun; None if the thread is not free."""
        if not self._is_free.acquire(blocking=False):
            return None
        if not self._started:
            threading.Thread(target=self._serve, name="tfport-spare", daemon=True).start()
            self._started = True
        handed = _Handed(work)
        self._next.put(handed)
        return handed.wait

    def _serve(self) -> None:
        while True:
            handed = self._next.get()
            handed.do()
            self._is_free.release()
            handed.done.release()
            del handed


class _Handed:
    """Work in another thread, with the context of this one: the bounds of its run."""

    def __init__(self, work: Work) -> None:
        self._work, self._context = work, copy_context()
        self._result: Any = None
        self._error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def do(self) -> None:
        try:
            self._result = self._context.run(self._work)
        except BaseException as error:  # it is raised where the result is wanted
            self._error = error

    def wait(self) -> Any:
        with self.done:
            if self._error is not None:
                raise self._error
            return self._result


_SPARE = SpareThread()
after_fork(_SPARE.__init__)  # type: ignore[misc]  # a child has no such thread
