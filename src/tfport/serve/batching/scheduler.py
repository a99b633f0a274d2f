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

from tfport.serve.batching.queue import BatchQueue, RequestBatch
from tfport.serve.servable import Arrays
from tfport.serve.status import StatusCode, StatusError

MOST_SERVABLES = 1024
"""Threads beyond those asked for, so that each servable can have one; they are started when needed."""
SHORTEST = 0.001
"""Seconds between looks at batches that wait, as in TensorFlow Serving."""
SHUTTING_DOWN = "The server is shutting down"


class Lane(Protocol):
    """A queue, and how its batches are run."""

    @property
    def queue(self) -> BatchQueue: ...

    @property
    def owner(self) -> object:
        """Whose batches these are: the servable."""
        ...

    def run(self, batch: RequestBatch) -> Sequence[Arrays]:
        """The answers to its tasks; this happens in a thread."""
        ...

    def end(self, batch: RequestBatch, answers: Sequence[Arrays], error: Exception | None) -> None:
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
        self._lanes: dict[Lane, None] = {}
        """Those that have batches, in the order in which they are asked."""
        self._running: Counter[object] = Counter()
        self._looks_soon = False
        self._timer: asyncio.TimerHandle | None = None

    def wake(self, lane: Lane) -> None:
        """A lane has something, now or when the time of its batch has passed."""
        if self.closed:
            raise StatusError(StatusCode.UNAVAILABLE, SHUTTING_DOWN)
        with self.lock:
            self._lanes.setdefault(lane)
        # what else arrives in this turn of the loop may join
        self._look_soon(asyncio.get_running_loop())

    def close(self) -> None:
        """Nothing is run any more; what has begun ends, what waits is refused."""
        self.closed = True
        with self.lock:
            waiting = [task for lane in self._lanes for task in lane.queue.tasks()]
            self._lanes.clear()
        for task in waiting:
            if not task.answer.done():
                task.answer.set_exception(StatusError(StatusCode.UNAVAILABLE, SHUTTING_DOWN))
        self._pool.shutdown(wait=False)

    def _look_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._looks_soon:
            self._looks_soon = True
            loop.call_soon(self._look, loop)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Give threads what should run; come back when the next batch is due."""
        self._looks_soon = False
        with self.lock:
            while (next_run := self._next()) is not None:
                self._pool.submit(self._work, *next_run, loop)
            due = min((lane.queue.due for lane in self._lanes if self._may_start(lane)), default=None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = loop.call_later(max(due - perf_counter(), SHORTEST), self._look_soon, loop)

    def _work(self, lane: Lane, batch: RequestBatch, loop: asyncio.AbstractEventLoop) -> None:
        """Run a batch, and then others as long as there are any; this happens in a thread."""
        next_run: tuple[Lane, RequestBatch] | None = (lane, batch)
        while next_run is not None:
            lane, batch = next_run
            answers: Sequence[Arrays] = ()
            error: Exception | None = None
            try:
                answers = lane.run(batch)
            except Exception as raised:
                error = raised
            with self.lock:
                self._ended(lane)
                next_run = self._next()
            with suppress(RuntimeError):  # the loop is closed, so nobody waits
                loop.call_soon_threadsafe(lane.end, batch, answers, error)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._look_soon, loop)

    def _next(self) -> tuple[Lane, RequestBatch] | None:
        """A batch that should run now, of the lane whose turn it is."""
        for lane in list(self._lanes):
            if not lane.queue:
                del self._lanes[lane]
            elif self._may_start(lane) and (batch := lane.queue.next_batch(perf_counter())):
                self._lanes[lane] = self._lanes.pop(lane)  # who had a turn goes to the end
                self._running[lane.owner] += 1
                return lane, batch
        return None

    def _may_start(self, lane: Lane) -> bool:
        return self._running.total() < self.threads or not self._running[lane.owner]

    def _ended(self, lane: Lane) -> None:
        self._running[lane.owner] -= 1
        if not self._running[lane.owner]:
            del self._running[lane.owner]
