"""What a GPU prepares beside its calls: kernels that cuDNN compiles, and CUDA graphs.

That takes seconds for some models, so calls go on as before until it is done. One thread does it, one thing
after another: a graph is not captured while kernels are compiled, for which all calls would have to wait.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from tfport.operating_system import after_fork

Work = Callable[[], None]
RUNS_TO_PREPARE = 3
"""Runs after which a GPU has begun all that it prepares for a shape that comes back."""


class Preparations:
    """Work to do beside calls; the thread ends when nothing is left, or when the process ends."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._left: deque[Work] = deque()
        self._works = False

    def begin(self, work: Work) -> None:
        """Do this after what was begun before; what it raises is lost."""
        with self._changed:
            self._left.append(work)
            if not self._works:
                self._works = True
                # not a daemon: such a thread may end in the middle of a call to the driver
                threading.Thread(target=self._serve, name="tfport-preparation").start()

    def wait(self) -> None:
        """Wait until all is done that was begun."""
        with self._changed:
            while self._works:
                self._changed.wait()

    def _serve(self) -> None:
        while True:
            with self._changed:
                if not self._left or not threading.main_thread().is_alive():
                    self._left.clear()
                    self._works = False
                    self._changed.notify_all()
                    return
                work = self._left.popleft()
            try:
                work()
            except Exception:  # calls go on without it
                continue


PREPARATIONS = Preparations()
"""Those of this process, for all GPUs."""
after_fork(PREPARATIONS.__init__)  # type: ignore[misc]  # a child has no such thread
