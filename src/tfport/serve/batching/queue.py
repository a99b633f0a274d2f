"""The queue of waiting requests: open batches that accept more, and closed ones in order.

A queue belongs to one servable, one signature and one set of outputs, as in TensorFlow Serving. It
holds at most `max_enqueued_batches` batches of each kind, and no more rows than that many full batches;
further requests are rejected immediately. Callers must hold the scheduler's lock. `scheduler` decides
when a batch runs, `batch_growth` how far it grows.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Hashable, Mapping
from time import perf_counter
from typing import Any

from tfport.errors import RunCancelled
from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.serve.batching.batch_growth import Company, RowLimit
from tfport.serve.batching.joining import pieces_of
from tfport.serve.batching.parameters import BatchParameters
from tfport.serve.servable import NOBODY_WAITS, Arrays
from tfport.serve.status import StatusCode, StatusError
from tfport.startup.dataclass import dataclass, field

FULL = "The batch scheduling queue to which this task was submitted is full; "


@dataclass(eq=False, slots=True)
class Task:
    """A request, or a piece of one."""

    inputs: Mapping[str, Any]
    rows: int
    answer: asyncio.Future[Arrays]
    since: float = field(default_factory=perf_counter)
    batch: RequestBatch | None = None
    """The batch it waits in; None once that batch has left the queue."""
    runs_in: RequestBatch | None = None
    """The batch it runs in."""


@dataclass(eq=False, slots=True)
class RequestBatch:
    """Requests that run together."""

    kind: Hashable
    """None for a request that runs alone."""
    tasks: list[Task] = field(default_factory=list)
    rows: int = 0
    opened: float = field(default_factory=perf_counter)
    stop: StopSignal = field(default_factory=StopSignal)
    seconds: float = 0.0
    """Processor time of its run."""

    def stop_if_abandoned(self) -> None:
        """Stop the run if nobody waits for any of its answers."""
        if all(task.answer.done() for task in self.tasks):
            self.stop.stop(RunCancelled(NOBODY_WAITS))

    def add(self, task: Task) -> None:
        self.tasks.append(task)
        self.rows += task.rows
        task.batch = self


class BatchQueue:
    """The batches of one servable, signature and set of outputs that have not started."""

    def __init__(self, parameters: BatchParameters) -> None:
        self.parameters = parameters
        self._open: dict[Hashable, RequestBatch] = {}
        self._closed: deque[RequestBatch] = deque()
        self._closed_of: Counter[Hashable] = Counter()
        self._rows = 0
        self._company, self._limit = Company(), RowLimit(parameters.largest_run)
        self._adapts = parameters.adapts and not parameters.allowed_sizes

    def __len__(self) -> int:
        return len(self._open) + len(self._closed)

    def put(self, kind: Hashable, inputs: Arrays, rows: int) -> list[Task]:
        """Enqueue a request, in pieces if it may be split; raise if the queue is full."""
        self._check_capacity(kind, rows)
        sizes = self._sizes(kind, rows)
        pieces = [inputs] if len(sizes) == 1 else pieces_of(inputs, sizes)
        return [self._add(kind, piece, size) for piece, size in zip(pieces, sizes, strict=True)]

    def put_again(self, kind: Hashable, inputs: Arrays, rows: int) -> Task:
        """Enqueue a request that was accepted before, or a piece of it: it is never rejected."""
        return self._add(kind, inputs, rows)

    def put_alone(self, inputs: Mapping[str, Any], rows: int, *, accepted: bool = False) -> Task:
        """Enqueue a request that runs alone; one that was accepted before is never rejected."""
        if not accepted:
            self._check_rows(rows)
        batch = RequestBatch(None)
        task = self._into(batch, inputs, rows)
        self._closed.append(batch)
        return task

    def leave(self, task: Task) -> bool:
        """Remove a cancelled request; return whether it was still waiting."""
        batch, task.batch = task.batch, None
        if batch is None:
            return False
        batch.tasks.remove(task)
        batch.rows -= task.rows
        self._rows -= task.rows
        if not batch.tasks:
            self._drop(batch)
        return True

    def next_batch(self, now: float) -> RequestBatch | None:
        """Remove and return a batch to run: the first closed one, or one that is full or due."""
        if not self._closed:
            for batch in list(self._open.values()):
                if batch.rows >= self._most_rows or self._has_waited(batch, now):
                    self._close(batch)
        if not self._closed:
            return None
        batch = self._first(self._closed[0])
        self._rows -= batch.rows
        for task in batch.tasks:
            task.batch, task.runs_in = None, batch
        return batch

    def _first(self, batch: RequestBatch) -> RequestBatch:
        """Remove a closed batch, or its first requests if that is more than pays."""
        if batch.kind is None or batch.rows <= self._most_rows or len(batch.tasks) == 1:
            self._drop(batch)
            return batch
        part = RequestBatch(batch.kind)
        while not part.tasks or part.rows + batch.tasks[0].rows <= self._most_rows:
            part.add(batch.tasks.pop(0))
        batch.rows -= part.rows
        return part

    def ran(self, batch: RequestBatch) -> None:
        """Note a batch that has run."""
        if batch.kind is not None and self._adapts:
            self._limit.ran(batch.rows)

    @property
    def _most_rows(self) -> int:
        """How many rows the next batch may have."""
        return self._limit.rows if self._adapts else self._largest

    def _has_waited(self, batch: RequestBatch, now: float) -> bool:
        timeout, requests = self.parameters.timeout, len(batch.tasks)
        if now < batch.opened + timeout:
            return self._company.is_complete(requests, now, timeout)
        if timeout:
            self._company.waited(requests, now)
        return True

    def tasks(self) -> list[Task]:
        """All waiting requests."""
        return [task for batch in (*self._closed, *self._open.values()) for task in batch.tasks]

    @property
    def due(self) -> float:
        """Time at which the first batch has waited long enough."""
        opened = min((batch.opened for batch in (*self._closed, *self._open.values())), default=0.0)
        return opened + self.parameters.timeout

    @property
    def _largest(self) -> int:
        return self.parameters.largest_run

    def _add(self, kind: Hashable, inputs: Arrays, rows: int) -> Task:
        batch = self._open.get(kind)
        if batch is not None and batch.rows + rows > self._largest:
            self._close(batch)
            batch = None
        if batch is None:
            batch = self._open[kind] = RequestBatch(kind)
        return self._into(batch, inputs, rows)

    def _into(self, batch: RequestBatch, inputs: Mapping[str, Any], rows: int) -> Task:
        task = Task(inputs, rows, asyncio.get_running_loop().create_future())
        batch.add(task)
        self._rows += rows
        return task

    def _close(self, batch: RequestBatch) -> None:
        del self._open[batch.kind]
        self._closed.append(batch)
        self._closed_of[batch.kind] += 1

    def _drop(self, batch: RequestBatch) -> None:
        if self._open.get(batch.kind) is batch:
            del self._open[batch.kind]
            return
        self._closed.remove(batch)
        if batch.kind is not None:
            self._closed_of[batch.kind] -= 1
            if not self._closed_of[batch.kind]:
                del self._closed_of[batch.kind]

    def _sizes(self, kind: Hashable, rows: int) -> list[int]:
        """Return the rows of each piece: the first fills the open batch, the others new batches."""
        if not self.parameters.split:
            return [rows]
        free = self._largest - self._open[kind].rows if kind in self._open else 0
        first = min(free, rows)
        whole, rest = divmod(rows - first, self._largest)
        return [size for size in (first, *[self._largest] * whole, rest) if size]

    def _check_capacity(self, kind: Hashable, rows: int) -> None:
        most, largest = self.parameters.max_enqueued_batches, self._largest
        size = self._open[kind].rows if kind in self._open else 0
        enqueued = self._closed_of[kind] + (kind in self._open)
        if self.parameters.split:
            capacity = (most - enqueued) * largest + (largest - size if kind in self._open else 0)
            if rows > capacity:
                raise StatusError(
                    StatusCode.UNAVAILABLE,
                    f"{FULL}task size is {rows} but scheduling capacity is only {capacity} "
                    f"(num_enqueued_batches={enqueued}, max_enqueued_batches={most}, "
                    f"open_batch_size={size}, max_execution_batch_size={largest})",
                )
        elif enqueued >= most and (not size or size + rows > largest):
            raise StatusError(
                StatusCode.UNAVAILABLE,
                f"{FULL}currently {enqueued} batches enqueued and max_enqueued_batches is {most}",
            )
        self._check_rows(rows)

    def _check_rows(self, rows: int) -> None:
        """Raise if the queue would hold more rows than its maximum of full batches."""
        most = self.parameters.max_enqueued_batches
        if self._rows and self._rows + rows > most * self._largest:
            raise StatusError(
                StatusCode.UNAVAILABLE,
                f"{FULL}currently {len(self)} batches enqueued and max_enqueued_batches is {most}",
            )
