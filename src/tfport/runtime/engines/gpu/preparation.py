"""What a GPU prepares beside its calls: kernels that cuDNN compiles, and CUDA graphs.

That takes seconds for some models, so calls go on as before until it is done. One thread does it, one thing
after another: a graph is not captured while kernels are compiled, for which all calls would have to wait.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor

from tfport.operating_system import after_fork

Work = Callable[[], None]
RUNS_TO_PREPARE = 3
"""Runs after which a GPU has begun all that it prepares for a shape that comes back."""


class Preparations:
    """Work to do beside calls, in a thread that lives as long as the process.

    ONNX Runtime keeps attention kernels that cuDNN compiled until the thread ends that needed them. Graphs
    would still launch them then, from memory in which other kernels lie.
    """

    def __init__(self) -> None:
        # its thread is not a daemon, which may end in the middle of a call to the driver
        self._thread = ThreadPoolExecutor(1, "tfport-preparation")
        self._last: Future[None] | None = None

    def begin(self, work: Work) -> None:
        """Do this after what was begun before; what it raises is lost, and all when the process ends."""
        with contextlib.suppress(RuntimeError):  # the process ends
            self._last = self._thread.submit(_unless_ending, work)

    def wait(self) -> None:
        """Wait until all is done that was begun, also by what was begun."""
        waited = None
        while (last := self._last) is not waited:
            waited = last
            if last is not None:
                futures.wait([last])


def _unless_ending(work: Work) -> None:
    if threading.main_thread().is_alive():
        work()


PREPARATIONS = Preparations()
"""Those of this process, for all GPUs."""
after_fork(PREPARATIONS.__init__)  # type: ignore[misc]  # a child has no such thread
