"""A `Runner` that runs calls of one servable in batches.

    batching = Batching(default_parameters())
    servable = Servable("half_plus_two", 123, session, batching.runner("half_plus_two", 123))

Each request gets exactly its own rows. Requests that cannot be batched run alone: inputs with different
first sizes, components of sparse and ragged tensors, signatures with a fixed first size, outputs that
turn out not to have one row per input row. If a batch fails, its requests are run one by one, so that
only those fail that would have failed alone. A batch is stopped when no client waits for it any more.

Where an engine refuses numbers, as recurrent layers do NaN, the host computes the answer, which takes longer.
From the first such batch on, requests with numbers that are not finite share batches only with each other.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from time import perf_counter, thread_time
from typing import Any

from tfport.formats.files import Files
from tfport.graph.model import Signature
from tfport.runtime.engines.engine import NumbersRefused
from tfport.runtime.session import Session
from tfport.serve.batching.joining import (
    concat_pieces,
    has_composite_inputs,
    has_rows,
    is_finite,
    kind_of,
    may_share,
    rows_of,
    run_joined,
    split_rows,
)
from tfport.serve.batching.parameters import (
    BatchParameters,
    default_parameters,
    model_parameters,
    read_parameters,
)
from tfport.serve.batching.queue import BatchQueue, RequestBatch, Task
from tfport.serve.batching.scheduler import Scheduler
from tfport.serve.monitoring.metrics import QUEUE, RUN, Metrics
from tfport.serve.servable import Arrays, run_signature
from tfport.serve.status import invalid_argument

MOST_LANES = 64
"""Unused sets of outputs to keep; clients choose them freely."""
FILE_WITHOUT_BATCHING = (
    "server_options.batching_parameters_file is set without setting server_options.enable_batching to true."
)
Key = tuple[str, tuple[str, ...]]
BatchReport = Callable[[int, float], None]
"""Takes the number of calls of a batch, and the processor time of its run."""


class _NoRows(Exception):
    """An output does not have one row per input row."""


class _BatchFailed(Exception):
    """A batch of several requests failed; it is unknown which of them caused it."""


class _Mixed(Exception):
    """The engine refused a batch, perhaps because of a request whose numbers are not finite."""


class Batching:
    """The batching of one server: its threads, and a runner for each servable."""

    def __init__(
        self,
        parameters: BatchParameters,
        *,
        per_model: bool = False,
        metrics: Metrics | None = None,
        gpus: int = 0,
    ) -> None:
        self.parameters, self.per_model, self.gpus = parameters, per_model, gpus
        self.metrics = metrics or Metrics(process=False)
        self.scheduler = Scheduler(parameters.threads, parameters.pool_name)

    def runner(
        self,
        name: str,
        version: int,
        files: Files | None = None,
        most_runs: Callable[[], int] = lambda: 0,
    ) -> BatchRunner | None:
        """Return the runner of a servable; None if it is not batched: with `per_model` each model
        needs its own parameters. `most_runs`: as in `ThreadUser`."""
        chosen = self.parameters_of(files)
        if chosen is None:
            return None
        return BatchRunner(self.scheduler, chosen, name, version, self.metrics, most_runs)

    def parameters_of(self, files: Files | None) -> BatchParameters | None:
        """Return the parameters of a model; None if it is not batched."""
        if not self.per_model:
            return self.parameters
        return model_parameters(files, self.gpus) if files is not None else None

    def close(self) -> None:
        """Reject waiting requests; must be called in the event loop, after draining."""
        self.scheduler.close()


def batching_for(
    enabled: bool,
    file: str = "",
    *,
    per_model: bool = False,
    metrics: Metrics | None = None,
    gpus: int = 0,
) -> Batching | None:
    """Create the batching that `--enable_batching`, `--batching_parameters_file` and
    `--enable_per_model_batching_parameters` configure; None if it is disabled. `gpus` compute."""
    if not enabled:
        if file:
            raise invalid_argument(FILE_WITHOUT_BATCHING)
        return None
    chosen = read_parameters(file, gpus) if file else default_parameters(gpus)
    return Batching(chosen, per_model=per_model, metrics=metrics, gpus=gpus)


class BatchRunner:
    """Runs the calls of one servable in batches."""

    def __init__(
        self,
        scheduler: Scheduler,
        parameters: BatchParameters,
        name: str = "",
        version: int = 0,
        metrics: Metrics | None = None,
        most_runs: Callable[[], int] = lambda: 0,
    ) -> None:
        self.scheduler, self.parameters, self.most_runs = scheduler, parameters, most_runs
        self.metrics = metrics or Metrics(process=False)
        self.name, self.version = name, version
        self.clock: Callable[[], float] = thread_time
        """Measures a run, in its thread."""
        self._lanes: dict[Key, _SignatureLane] = {}

    async def __call__(
        self,
        session: Session,
        signature: Signature,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        ran: BatchReport = lambda calls, seconds: None,
    ) -> Arrays:
        """Return the named outputs; `ran` learns of the batch in which the call ran."""
        rows = rows_of(inputs)
        if rows is not None and rows > (most := self.parameters.max_batch_size):
            raise invalid_argument(f"Task size {rows} is larger than maximum input batch size {most}")
        lane = self._lane(session, signature, outputs)
        lane.users += 1
        try:
            shared = rows and lane.has_rows and may_share(signature, inputs)
            answer = await (lane.shared(inputs, rows or 0, ran) if shared else lane.alone(inputs, rows))
            return {name: answer[name] for name in outputs}
        finally:
            lane.users -= 1
            if not lane.users and len(self._lanes) > MOST_LANES:
                self._lanes.pop(lane.key, None)

    def may_join(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> bool:
        """Whether the rows of several requests like this one may run together."""
        lane = self._lane(session, signature, outputs)
        return lane.has_rows and may_share(signature, inputs) and not (lane.sorts and not is_finite(inputs))

    def _lane(self, session: Session, signature: Signature, outputs: Sequence[str]) -> _SignatureLane:
        key = (signature.name, tuple(sorted(set(outputs))))
        lane = self._lanes.get(key)
        if lane is None:
            lane = self._lanes[key] = _SignatureLane(self, key, session, signature)
        return lane


class _SignatureLane:
    """The calls of one signature for one set of outputs."""

    def __init__(self, owner: BatchRunner, key: Key, session: Session, signature: Signature) -> None:
        self.owner, self.key, self.session, self.signature = owner, key, session, signature
        self.queue, self.lock = BatchQueue(owner.parameters), owner.scheduler.lock
        self.users = 0
        self.has_rows = has_rows(signature, key[1]) and not has_composite_inputs(session.model, signature)
        self.sorts = False
        """Whether requests with NaN or infinities are kept apart from others."""
        self.metrics = owner.metrics
        self.labels = (owner.name, owner.version, signature.name)

    async def shared(self, inputs: Mapping[str, Any], rows: int, ran: BatchReport) -> Arrays:
        kind = self._kind(inputs)
        with self.lock:
            tasks = self.queue.put(kind, dict(inputs), rows)
        self.metrics.enqueued(rows, len(inputs))
        try:
            self._enter(tasks)
            if len(tasks) > 1:
                return await self._pieces(tasks)
            answer = await self._piece(tasks[0])
            if (batch := tasks[0].runs_in) is not None:
                ran(len(batch.tasks), batch.seconds)
            return answer
        except _NoRows:
            self.has_rows = False
            return await self._by_itself(inputs, rows, accepted=True)
        finally:
            self._abandon(tasks)

    def _kind(self, inputs: Mapping[str, Any]) -> Hashable:
        kind = kind_of(self.signature, inputs, self.owner.parameters.pad_inputs)
        return (kind, is_finite(inputs)) if self.sorts else kind

    async def alone(self, inputs: Mapping[str, Any], rows: int | None) -> Arrays:
        self.metrics.alone(*self.labels)
        return await self._by_itself(inputs, rows or 1)

    async def _pieces(self, tasks: list[Task]) -> Arrays:
        pieces = [asyncio.ensure_future(self._piece(task)) for task in tasks]
        try:
            return concat_pieces(await asyncio.gather(*pieces))
        finally:
            for piece in pieces:  # if one failed, the others are not needed
                piece.cancel()

    async def _piece(self, task: Task) -> Arrays:
        try:
            return await task.answer
        except _BatchFailed:
            return await self._by_itself(task.inputs, task.rows, accepted=True)
        except _Mixed:
            return await self._again(dict(task.inputs), task.rows)

    async def _again(self, inputs: Arrays, rows: int) -> Arrays:
        with self.lock:
            task = self.queue.put_again(self._kind(inputs), inputs, rows)
        try:
            self._enter([task])
            return await self._piece(task)
        finally:
            self._abandon([task])

    async def _by_itself(self, inputs: Mapping[str, Any], rows: int, *, accepted: bool = False) -> Arrays:
        with self.lock:
            task = self.queue.put_alone(inputs, rows, accepted=accepted)
        try:
            self._enter([task])
            return await task.answer
        finally:
            self._abandon([task])

    def _enter(self, tasks: list[Task]) -> None:
        self.metrics.waiting(self.owner.name, self.owner.version, len(tasks))
        self.owner.scheduler.wake(self)

    def _abandon(self, tasks: list[Task]) -> None:
        for task in tasks:
            # retrieve the exception of an abandoned request, or asyncio would log it
            if not task.answer.cancel() and not task.answer.cancelled():
                task.answer.exception()
            elif task.runs_in is not None:
                task.runs_in.stop_if_abandoned()
        with self.lock:
            removed = sum(self.queue.leave(task) for task in tasks)
        if removed:
            self.metrics.waiting(self.owner.name, self.owner.version, -removed)

    # -- called by the scheduler ---------------------------------------------------------------------

    def run(self, batch: RequestBatch) -> list[Arrays]:
        began, start = perf_counter(), self.owner.clock()
        self._begin(batch, began)
        self.metrics.run_began(self.owner.name, self.owner.version, batch.stop)
        try:
            return [self._run_alone(batch)] if batch.kind is None else self._run_joined(batch)
        finally:
            batch.seconds = self.owner.clock() - start
            self.metrics.run_ended(batch.stop)
            seconds = perf_counter() - began
            self.metrics.ran(*self.labels, batch.rows, seconds)
            for _ in batch.tasks:
                self.metrics.stage(*self.labels, RUN, seconds)

    def _begin(self, batch: RequestBatch, now: float) -> None:
        self.metrics.waiting(self.owner.name, self.owner.version, -len(batch.tasks))
        for task in batch.tasks:
            self.metrics.stage(*self.labels, QUEUE, now - task.since)
            if batch.kind is not None:
                self.metrics.waited(now - task.since)

    def _run_alone(self, batch: RequestBatch) -> Arrays:
        return run_signature(self.session, self.signature, batch.tasks[0].inputs, self.key[1], batch.stop)

    def _run_joined(self, batch: RequestBatch) -> list[Arrays]:
        padded = self.owner.parameters.padded(batch.rows)
        self.metrics.batch(*self.labels, batch.rows, padded)
        requests = [task.inputs for task in batch.tasks]
        arguments = (self.session, self.signature, requests, batch.rows, padded, self.key[1], batch.stop)
        mixes = len(batch.tasks) > 1 and not self.sorts
        try:
            outputs = run_joined(*arguments, repeats=not mixes)
        except NumbersRefused:
            self.sorts = True
            raise _Mixed from None
        answers = split_rows(outputs, [task.rows for task in batch.tasks], padded)
        if answers is None:
            raise _NoRows
        return answers

    def end(self, batch: RequestBatch, answers: Sequence[Arrays], error: Exception | None) -> None:
        for index, task in enumerate(batch.tasks):
            if task.answer.done():  # the request was cancelled
                continue
            if error is None:
                task.answer.set_result(answers[index])
            elif isinstance(error, _NoRows | _Mixed):
                task.answer.set_exception(type(error)())
            else:
                task.answer.set_exception(_BatchFailed() if len(batch.tasks) > 1 else error)
