"""Run batches in threads, taking turns between servables.

A batch runs when it is full or its timeout has passed, and a thread is free. As in TensorFlow Serving,
it waits for the timeout even while threads are idle, unless the queue expects nobody else; with the default
timeout of 0 an idle thread takes the requests that are waiting. A servable with nothing running gets a thread
even if all threads are busy, so that a slow model does not block another. A thread that has run a batch takes
the next one itself, because the event loop may be busy; answers are delivered in the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from time import perf_counter
from typing import Protocol

from tfport.runtime.freed_memory import thread_pool
from tfport.serve.batching.queue import BatchQueue, RequestBatch
from tfport.serve.servable import Arrays
from tfport.serve.status import StatusCode, StatusError
from tfport.serve.thread_shares import MOST_SERVABLES, ThreadShares, ThreadUser

SHORTEST = 0.001
"""Minimum seconds between two checks of waiting batches, as in TensorFlow Serving."""
SHUTTING_DOWN = "The server is shutting down"


class Lane(Protocol):
    """A queue, and how its batches are run."""

    @property
    def queue(self) -> BatchQueue: ...

    @property
    def owner(self) -> ThreadUser:
        """The runner of the servable that the batches belong to."""
        ...

    def run(self, batch: RequestBatch) -> Sequence[Arrays]:
        """Return the answers to a batch's tasks; called in a thread."""
        ...

    def end(self, batch: RequestBatch, answers: Sequence[Arrays], error: Exception | None) -> None:
        """Deliver the answers or the error to a batch's tasks."""
        ...


class Scheduler:
    """The batch threads of one server."""

    def __init__(self, threads: int, name: str) -> None:
        self.lock = Lock()
        """Protects all queues."""
        self.closed = False
        self._pool = thread_pool(threads + MOST_SERVABLES, name)
        self._lanes: dict[Lane, None] = {}
        """Lanes with waiting batches, in the order of their turns."""
        self._shares = ThreadShares(threads)
        self._check_scheduled = False
        self._timer: asyncio.TimerHandle | None = None

    def wake(self, lane: Lane) -> None:
        """Schedule a lane that has received a task."""
        if self.closed:
            raise StatusError(StatusCode.UNAVAILABLE, SHUTTING_DOWN)
        with self.lock:
            self._lanes.setdefault(lane)
        # tasks that arrive in this iteration of the loop may join
        self._schedule_check(asyncio.get_running_loop())

    def close(self) -> None:
        """Run nothing more: batches in progress end, waiting tasks are rejected."""
        self.closed = True
        with self.lock:
            waiting = [task for lane in self._lanes for task in lane.queue.tasks()]
            self._lanes.clear()
        for task in waiting:
            if not task.answer.done():
                task.answer.set_exception(StatusError(StatusCode.UNAVAILABLE, SHUTTING_DOWN))
        self._pool.shutdown(wait=False)

    def _schedule_check(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._check_scheduled:
            self._check_scheduled = True
            loop.call_soon(self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the batches that should run; return when the next batch is due."""
        self._check_scheduled = False
        with self.lock:
            while (next_run := self._next()) is not None:
                self._pool.submit(self._work, *next_run, loop)
            due = min(
                (lane.queue.due for lane in self._lanes if self._shares.may_begin(lane.owner)), default=None
            )
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if due is not None:
            self._timer = loop.call_later(max(due - perf_counter(), SHORTEST), self._schedule_check, loop)

    def _work(self, lane: Lane, batch: RequestBatch, loop: asyncio.AbstractEventLoop) -> None:
        """Run a batch and then further ones as long as there are any; runs in a thread."""
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
                self._shares.ended(lane.owner)
                lane.queue.ran(batch)
                next_run = self._next()
                while next_run is not None and (other := self._next()) is not None:
                    self._pool.submit(self._work, *other, loop)
            with suppress(RuntimeError):  # the loop is closed, so no client is waiting
                loop.call_soon_threadsafe(lane.end, batch, answers, error)
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(self._schedule_check, loop)

    def _next(self) -> tuple[Lane, RequestBatch] | None:
        """Return the batch to run now and its lane, in turn."""
        for lane in list(self._lanes):
            if not lane.queue:
                del self._lanes[lane]
            elif self._shares.may_begin(lane.owner) and (batch := lane.queue.next_batch(perf_counter())):
                self._lanes[lane] = self._lanes.pop(lane)  # move to the end: it had its turn
                self._shares.began(lane.owner)
                return lane, batch
        return None
