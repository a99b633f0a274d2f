"""Score record batches in several processes, in the order in which they came.

    for part, result in scored_by_workers(setup, parts, workers=4, meanwhile=scorer): …

A thread for each process sends it one batch after another, through memory that both map. While the processes
start, this one scores. A process that ends gets a successor, which scores the batch again; rows that end two
processes are searched for like any row that fails. All processes map the weights of the same prepared model
(`Session(cache=True)`).
"""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from tfport.batch.data_reader import TablePart
from tfport.batch.input_columns import RowErrors
from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import FAIL, RowFailed, ScoringOptions
from tfport.errors import Error
from tfport.operating_system import processors
from tfport.runtime.custom.added_ops import registry_with
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, GpuOptions
from tfport.runtime.freed_memory import keep_freed_memory
from tfport.serve.workers.transfer import receive, send
from tfport.startup.dataclass import dataclass, field, replace
from tfport.words import count

AHEAD = 2
"""Batches that are read or wait to be written, for each worker."""
TRIES = 2
"""A batch that ends so many processes is searched for the row at fault."""
STARTS = 5
"""After so many processes that ended while they loaded the model, the job ends."""
READY = "ready"
_START = "import sys; sys.path[:] = {path!r}; from {module} import main; main({fd})"
Scored = tuple[pa.RecordBatch, RowErrors]
Score = Callable[[pa.RecordBatch, RowErrors], Scored]


@dataclass(frozen=True, slots=True)
class ScorerSetup:
    """What a process needs to make a scorer."""

    model: str
    options: ScoringOptions
    constants: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()
    ops: tuple[str, ...] = ()
    gpu: GpuOptions = NO_GPU_OPTIONS
    workers: int = 1

    def scorer(self) -> BatchScorer:
        from tfport.formats.find import find_model
        from tfport.frontends.load import load_any_model
        from tfport.runtime.custom.registry import definitions_with

        registry, options = registry_with(self.libraries, self.ops), self.options
        if options.threads is None and self.workers > 1:
            options = replace(options, threads=max(processors() // self.workers, 1))
        model = load_any_model(find_model(self.model), definitions_with(registry), self.tags or None)
        return BatchScorer(
            model,
            options,
            constants=self.constants,
            registry=registry,
            gpu=self.gpu,
            share=self.workers,
        )


def scored_by_workers(
    setup: ScorerSetup, parts: Iterator[TablePart], workers: int, meanwhile: BatchScorer
) -> Iterator[tuple[TablePart, Scored | Error]]:
    """The parts with their results, in order; RowFailed, with the row of the file, is a result."""
    queue, ready = _OrderedQueue(parts, workers * AHEAD), threading.Event()
    if meanwhile.sizes.is_decided:
        setup = replace(setup, options=replace(setup.options, batch_rows=meanwhile.sizes.rows))
    threads = [_thread(_score_here, meanwhile, queue, ready)]
    del meanwhile  # its memory is that of the workers once they are ready
    processes = [_ScoringWorker(setup) for _ in range(workers)]
    threads += [_thread(_serve, worker, queue, ready) for worker in processes]
    try:
        yield from queue.results()
    finally:
        queue.close()
        for worker in processes:
            worker.stop()
        for thread in threads:
            thread.join()


class _OrderedQueue:
    """Parts that threads take, and results that come back in the order of the parts."""

    def __init__(self, parts: Iterator[TablePart], window: int) -> None:
        self._parts, self._window = parts, window
        self._changed = threading.Condition()
        self._reading = threading.Lock()
        self._results: dict[int, tuple[TablePart, Any]] = {}
        self._taken = self._returned = 0
        self._is_closed = self._at_end = False
        self._failed: BaseException | None = None

    def take(self) -> tuple[int, TablePart] | None:
        """The next part; None at the end. Waits while too many results are not yet fetched."""
        with self._reading:
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed or self._taken < self._returned + self._window)
                if self._is_closed or self._at_end:
                    return None
            try:
                part = next(self._parts, None)
            except BaseException as error:
                self.put(self._taken, None, error)
                part = None
            with self._changed:
                if part is None:
                    self._at_end = True
                    self._changed.notify_all()
                    return None
                self._taken += 1
                return self._taken - 1, part

    def put(self, number: int, part: TablePart | None, result: Any) -> None:
        with self._changed:
            self._results[number] = part, result  # type: ignore[assignment]
            self._changed.notify_all()

    def fail(self, error: BaseException) -> None:
        """End with an error that is not about a part."""
        with self._changed:
            self._failed = error
            self._changed.notify_all()

    def results(self) -> Iterator[tuple[TablePart, Scored | Error]]:
        while True:
            with self._changed:
                while self._returned not in self._results:
                    if self._failed is not None:
                        raise self._failed
                    if self._at_end and self._returned >= self._taken:
                        return
                    self._changed.wait(0.5)  # with a timeout, a signal is handled soon
                part, result = self._results.pop(self._returned)
                self._returned += 1
                self._changed.notify_all()
            if isinstance(result, BaseException) and not isinstance(result, RowFailed):
                raise result
            yield part, result

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


def _thread(target: Callable[..., None], *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=target, args=arguments, daemon=True)
    thread.start()
    return thread


def _score_here(scorer: BatchScorer, queue: _OrderedQueue, ready: threading.Event) -> None:
    """Score parts until a worker can."""
    while not ready.is_set() and (taken := queue.take()) is not None:
        _answer(queue, *taken, scorer.score)


def _serve(worker: _ScoringWorker, queue: _OrderedQueue, ready: threading.Event) -> None:
    """Give parts to a worker, one after another."""
    try:
        worker.wait_until_ready()
        ready.set()
        while (taken := queue.take()) is not None:
            _answer(queue, *taken, worker.score)
    except BaseException as error:
        queue.fail(error)
    finally:
        worker.close()


def _answer(queue: _OrderedQueue, number: int, part: TablePart, score: Score) -> None:
    try:
        queue.put(number, part, tried(score, part))
    except BaseException as error:
        queue.put(number, part, error)


def tried(score: Score, part: TablePart) -> Scored | RowFailed:
    """The result of a part; the row that fails is counted from the beginning of its file."""
    try:
        return score(part.batch, part.errors)
    except RowFailed as error:
        return RowFailed(error.row + part.row, error.why)


class _ScoringWorker:
    """A worker process, replaced when it ends."""

    def __init__(self, setup: ScorerSetup) -> None:
        self.setup = setup
        self._is_stopped = False
        self._start()

    def _start(self) -> None:
        self.connection, theirs = socket.socketpair()
        script = _START.format(path=sys.path, module=__name__, fd=theirs.fileno())
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", script], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        with suppress(OSError):
            send(self.connection, self.setup)

    def wait_until_ready(self) -> None:
        """Wait until the model is loaded."""
        for _ in range(STARTS):
            try:
                answer = receive(self.connection)[0]
            except (EOFError, OSError):
                code = self._replace()
                continue
            if answer != READY:
                raise answer
            return
        raise Error(f"a process that loads the model ended {count(STARTS, 'time')} {_ending(code)}")

    def score(self, batch: pa.RecordBatch, known: RowErrors) -> Scored:
        """The result of a batch; halves of it are tried where it ends the process twice."""
        for _ in range(TRIES):
            try:
                send(self.connection, (_packed(batch), known))
                answer = receive(self.connection)[0]
            except (EOFError, OSError):
                code = self._replace()
                self.wait_until_ready()
                continue
            if isinstance(answer, Exception):
                raise answer
            return _unpacked(answer[0]), answer[1]
        return self._searched(batch, known, code)

    def _replace(self) -> int:
        """Start another process; return how the one before ended."""
        self.close()
        code = self.process.returncode
        if self._is_stopped:
            raise EOFError
        self._start()
        if self._is_stopped:
            self.process.kill()
        return code

    def _searched(self, batch: pa.RecordBatch, known: RowErrors, code: int) -> Scored:
        why = f"the process that scores it ended {_ending(code)}; it may have run out of memory"
        number = batch.num_rows
        if self.setup.options.on_error == FAIL and number > 1:
            raise Error(f"a process that scored {number:,} rows ended twice {_ending(code)}")
        if number == 1:
            if self.setup.options.on_error == FAIL or 0 in known:
                raise RowFailed(0, why)
            return self.score(batch, {0: why})
        half = number // 2
        first = self.score(batch.slice(0, half), {row: e for row, e in known.items() if row < half})
        rest = {row - half: error for row, error in known.items() if row >= half}
        second = self.score(batch.slice(half), rest)
        errors = {**first[1], **{row + half: error for row, error in second[1].items()}}
        table = pa.Table.from_batches([first[0], second[0]]).combine_chunks()
        return table.to_batches()[0], errors

    def stop(self) -> None:
        """End the process, whatever it does; from another thread."""
        self._is_stopped = True
        self.process.kill()

    def close(self) -> None:
        self.connection.close()
        self.process.wait()


def _ending(code: int) -> str:
    return f"with signal {-code}" if code < 0 else f"with exit code {code}"


def _packed(batch: pa.RecordBatch) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)
    return sink.getvalue()


def _unpacked(data: pa.Buffer) -> pa.RecordBatch:
    with pa.ipc.open_stream(data) as stream:
        return stream.read_next_batch()


def main(fd: int) -> None:
    """The worker process: score one batch after another until the connection is closed."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the job closes the connection when it ends
    with suppress(OSError):  # if memory runs out, the system ends a worker and not the job
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
    keep_freed_memory()
    with socket.socket(fileno=fd) as connection, suppress(EOFError, ConnectionError):
        setup: ScorerSetup = receive(connection)[0]
        try:
            scorer = setup.scorer()
        except Error as error:
            send(connection, Error(str(error)))
            return
        send(connection, READY)
        while True:
            data, known = receive(connection)[0]
            try:
                result, errors = scorer.score(_unpacked(data), known)
                send(connection, (_packed(result), errors))
            except Error as error:
                send(connection, error if isinstance(error, RowFailed) else Error(str(error)))
