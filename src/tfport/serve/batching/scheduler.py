"""When batches run: as many at once as there are threads, model after model.

A batch leaves when it is full or its time has passed and a thread is free; TensorFlow Serving waits
so even while threads are idle, and with its default timeout of 0 an idle thread takes what there is.
A model of which nothing runs gets a thread even when the others hold all of them, so that a slow
model stops no other. A thread that has run a batch takes the next one itself, for the event loop may
be busy with requests; only the answers are given in the loop.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from time import perf_counter
from typing import Protocol

from tfport.serve.batching.queue import Batch, Queue
from tfport.serve.servable import Arrays
from tfport.serve.status import Code, Refused

MOST_SERVABLES = 1024
"""Threads beyond those asked for, so that each servable can have one; they are started when needed."""
SHORTEST = 0.001
"""Seconds between looks at batches that wait, as in TensorFlow Serving."""
SHUTTING_DOWN = "The server is shutting down"


class Line(Protocol):
    """A queue, and how its batches are run."""

    @property
    def queue(self) -> Queue: ...

    @property
    def owner(self) -> object:
        """Whose batches these are: the servable."""
        ...

    def run(self, batch: Batch) -> Sequence[Arrays]:
        """The answers to its tasks; this happens in a thread."""
        ...

    def end(self, batch: Batch, answers: Sequence[Arrays], error: Exception | None) -> None:
        """It has been run, or could not be: every task gets its answer."""
        ...


class Scheduler:
    """The batch threads of one server."""

    def __init__(self, threads: int, name: str) -> None:
        self.threads = threads
        self.lock = Lock()
        """Held by whoever looks at the queues or changes them."""
        self.closed = False
        self._pool = ThreadPoolExecutor(threads + MOST_SERVABLES, name)
        self._lines: dict[Line, None] = {}
        """Those that have batches, in the order in which they are asked."""
        self._running: Counter[object] = Counter()
        self._looks_soon = False
        self._timer: asyncio.TimerHandle | None = None

    def wake(self, line: Line) -> None:
        """A line has something, now or when the time of its batch has passed."""
        if self.closed:
            raise Refused(Code.UNAVAILABLE, SHUTTING_DOWN)
        with self.lock:
            self._lines.setdefault(line)
        # what else arrives in this turn of the loop may join
        self._look_soon(asyncio.get_running_loop())

    def close(self) -> None:
        """Nothing is run any more; what has begun ends, what waits is refused."""
        self.closed = True
        with self.lock:
            waiting = [task for line in self._lines for task in line.queue.tasks()]
            self._lines.clear()
        for task in waiting:
            if not task.answer.done():
                task.answer.set_exception(Refused(Code.UNAVAILABLE, SHUTTING_DOWN))
        self._pool.shutdown(wait=False)

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._looks_soon:
            self._looks_soon = True
            loop.call_soon(self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give threads what should run; come back when the next batch is due."""
        self._looks_soon = False
        with self.lock:
            while (found := self._next()) is not None:
                self._pool.submit(self._work, *found, loop)
            due = min((line.queue.due for line in self._lines if self._may_start(line)), default=None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = loop.call_later(max(due - perf_counter(), SHORTEST), self._look_soon, loop)

    def _work(self, line: Line, batch: Batch, loop: asyncio.AbstractEventLoop) -> None:
        """Run a batch, and then others as long as there are any; this happens in a thread."""
        found: tuple[Line, Batch] | None = (line, batch)
        while found is not None:
            line, batch = found
            answers: Sequence[Arrays] = ()
            error: Exception | None = None
            try:
                answers = line.run(batch)
            except Exception as raised:
                error = raised
            with self.lock:
                self._ended(line)
                found = self._next()
            with suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(line.end, batch, answers, error)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._look_soon, loop)

    def _next(self) -> tuple[Line, Batch] | None:
        """A batch that should run now, of the line whose turn it is."""
        for line in list(self._lines):
            if not line.queue:
                del self._lines[line]
            elif self._may_start(line) and (batch := line.queue.next_batch(perf_counter())):
                self._lines[line] = self._lines.pop(line)  # who had a turn goes to the end
                self._running[line.owner] += 1
                return line, batch
        return None

    def _may_start(self, line: Line) -> bool:
        return self._running.total() < self.threads or not self._running[line.owner]

    def _ended(self, line: Line) -> None:
        self._running[line.owner] -= 1
        if not self._running[line.owner]:
            del self._running[line.owner]
