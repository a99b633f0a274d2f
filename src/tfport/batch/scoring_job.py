"""Score files into a folder of parts: streaming, with several processes, resumed where it was stopped.

    result = run_job(ScoringJob(setup, ["data/*.parquet"], Path("out"), "parquet"), show)

Parts are written in the order of the rows, under a temporary name, and renamed when they are whole. The
manifest lists them, so that the same job continues after its last part. Memory does not depend on the length
of the input: a few batches are in flight, and one part is open.
"""

from __future__ import annotations

import itertools
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa

from tfport.batch.data_files import IMAGE, DataFile, find_data
from tfport.batch.data_reader import DataReader, TablePart
from tfport.batch.input_columns import RowErrors
from tfport.batch.job_manifest import JobManifest, open_manifest
from tfport.batch.part_writers import FORMATS, part_writer
from tfport.batch.scorer import BatchScorer
from tfport.batch.scoring_options import RowFailed
from tfport.batch.scoring_workers import Scored, ScorerSetup, scored_by_workers, tried
from tfport.errors import Error
from tfport.formats.digests import model_digest, model_files
from tfport.formats.files import reason
from tfport.progress_step import ProgressStep
from tfport.runtime.freed_memory import keep_freed_memory
from tfport.startup.dataclass import dataclass
from tfport.words import count

PART_ROWS = 100_000
PART_BYTES = 256 << 20
PART_SECONDS = 60.0
"""A part ends at the first of these: what is lost when a job is killed."""
WORTH_WORKERS = 2.0
"""Seconds of work that are left when workers are started: a process takes one to start."""
STEPS = 10_000
"""Of the progress from 0 to 1."""
Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ScoringJob:
    """What to score, and where to write it."""

    setup: ScorerSetup
    inputs: Sequence[str]
    folder: Path
    format: str = FORMATS[0]
    part_rows: int = PART_ROWS


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job did."""

    rows: int
    """Of all parts."""
    failed: int
    parts: int
    resumed: int
    """Rows of parts that an earlier run wrote."""
    seconds: float


def run_job(job: ScoringJob, show: Show = lambda text: None) -> JobResult:
    """Run a job, or the rest of it."""
    started = time.monotonic()
    keep_freed_memory()
    files = find_data(job.inputs)
    manifest = open_manifest(job.folder, _described(job, files))
    resumed = manifest.rows
    if not manifest.complete:
        _remove_unfinished(job.folder)
        try:
            _score(job, files, manifest, show)
        except OSError as error:
            kept = f"; {count(len(manifest.parts), 'part')} with {count(manifest.rows, 'row')} are kept"
            why = os.strerror(error.errno).lower() if error.errno else reason(error)  # Arrow adds details
            hint = f"{kept}: run the same command again to continue" if manifest.parts else ""
            raise Error(f"{job.folder}: cannot be written: {why}{hint}") from None
    seconds = time.monotonic() - started
    return JobResult(manifest.rows, manifest.failed, len(manifest.parts), resumed, seconds)


def _described(job: ScoringJob, files: Sequence[DataFile]) -> dict[str, Any]:
    """What results depend on."""
    asked, setup = job.setup.options, job.setup
    sums = model_files(setup.model)
    names = ("signature", "fetches", "columns", "outputs", "binary", "keep", "on_error")
    constants = {name: str(value) for name, value in setup.constants.items()}
    return {
        "model": {"sha256": model_digest(setup.model, sums)},
        "inputs": [[file.path, file.size, file.stamp] for file in files],
        "options": {
            **{name: getattr(asked, name) for name in names},
            "tags": setup.tags,
            "constants": constants,
            "format": job.format,
        },
    }


def _score(job: ScoringJob, files: Sequence[DataFile], manifest: JobManifest, show: Show) -> None:
    scorer = job.setup.scorer()
    reader = DataReader(files, scorer.column_types())
    parts = reader.read(*manifest.position)
    first = next(parts, None)
    if first is None:
        job.folder.mkdir(parents=True, exist_ok=True)
        manifest.complete = True
        manifest.write()
        return
    rate = _Rate(manifest.rows, reader, manifest.position, show)
    with ExitStack() as stack:
        writer = stack.enter_context(_PartWriter(job, manifest))
        scored = _named(_scored(job, scorer, first, parts), files)
        del scorer
        for part, (batch, errors) in scored:
            writer.write(part, batch, errors)
            rate.add(batch.num_rows, part.done)
        writer.finish()
    manifest.complete = True
    manifest.write()


def _scored(
    job: ScoringJob, scorer: BatchScorer, first: TablePart, rest: Iterator[TablePart]
) -> Iterator[tuple[TablePart, Scored | Error]]:
    """The parts with their results. Workers are started once there is enough work for them."""
    workers, done = job.setup.workers, 0.0
    for part in itertools.chain([first], rest if workers > 1 else _read_ahead(rest)):
        started = time.monotonic()
        yield part, tried(scorer.score, part)
        left = (time.monotonic() - started) * (1 - part.done) / max(part.done - done, 1e-9)
        if workers > 1 and left > WORTH_WORKERS:
            scored = scored_by_workers(job.setup, rest, workers, scorer)
            del scorer
            yield from scored
            return
        done = part.done


def _named(
    scored: Iterator[tuple[TablePart, Scored | Error]], files: Sequence[DataFile]
) -> Iterator[tuple[TablePart, Scored]]:
    """The results; an error about a row says in which file it is."""
    for part, result in scored:
        if isinstance(result, RowFailed):
            if files[part.file].format == IMAGE:
                raise Error(f"{files[part.file + result.row].path}: {result.why}")
            raise RowFailed(result.row, result.why, f"{files[part.file].path}, ")
        if isinstance(result, Error):
            raise result
        yield part, result


def _read_ahead(parts: Iterator[TablePart], number: int = 2) -> Iterator[TablePart]:
    """The parts, read in a thread while others are scored."""
    waiting: queue.Queue[Any] = queue.Queue(number)
    ended = threading.Event()

    def read() -> None:
        try:
            for part in parts:
                while not ended.is_set():
                    with suppress(queue.Full):
                        waiting.put(part, timeout=0.2)
                        break
                if ended.is_set():
                    return
            waiting.put(None)
        except BaseException as error:
            waiting.put(error)

    threading.Thread(target=read, daemon=True).start()
    try:
        while (part := waiting.get()) is not None:
            if isinstance(part, BaseException):
                raise part
            yield part
    finally:
        ended.set()


class _PartWriter:
    """Writes results to parts, one after another."""

    def __init__(self, job: ScoringJob, manifest: JobManifest) -> None:
        self.job, self.manifest = job, manifest
        self._open: ExitStack | None = None
        self._rows = self._bytes = self._failed = 0
        self._next = manifest.position

    def __enter__(self) -> _PartWriter:
        return self

    def __exit__(self, *error: object) -> None:
        """Remove a part that is not whole."""
        if self._open is not None:
            with suppress(Exception):
                self._open.close()
            self._temporary.unlink(missing_ok=True)

    def write(self, part: TablePart, batch: pa.RecordBatch, errors: RowErrors) -> None:
        if self._open is None:
            self._begin(batch.schema)
        self._write(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        self._failed += len(errors)
        self._next = part.file, part.row + part.batch.num_rows
        old = time.monotonic() - self._began > PART_SECONDS
        if self._rows >= self.job.part_rows or self._bytes >= PART_BYTES or old:
            self.finish()

    def _begin(self, schema: pa.Schema) -> None:
        name = f"part-{len(self.manifest.parts):05}.{self.job.format}"
        self._final = self.job.folder / name
        self._temporary = self.job.folder / f".{name}.unfinished"
        self.job.folder.mkdir(parents=True, exist_ok=True)
        self._open, self._began = ExitStack(), time.monotonic()
        self._write = self._open.enter_context(part_writer(self.job.format, schema, self._temporary))

    def finish(self) -> None:
        """Put the open part in its place."""
        if self._open is None:
            return
        self._open.close()
        with open(self._temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(self._temporary, self._final)
        self._open = None
        self.manifest.add(self._final.name, self._rows, self._failed, self._next)
        self._rows = self._bytes = self._failed = 0


def _remove_unfinished(folder: Path) -> None:
    for path in folder.glob(".part-*.unfinished"):
        path.unlink(missing_ok=True)


class _Rate:
    """Shows how far a job is, its rate and the time that is left."""

    def __init__(self, rows: int, reader: DataReader, position: tuple[int, int], show: Show) -> None:
        self._rows, self._new, self._show = rows, 0, show
        self._started, self._begin = time.monotonic(), reader.share_before(position)

    def add(self, rows: int, done: float) -> None:
        self._new += rows
        seconds = max(time.monotonic() - self._started, 1e-6)
        share = (done - self._begin) / max(1 - self._begin, 1e-9)
        text = f"{count(self._rows + self._new, 'row')}, {self._new / seconds:,.0f} rows/s"
        if share > 0.001:
            text += f", {_duration(seconds * (1 - share) / share)} left"
        self._show(ProgressStep(text, int(done * STEPS), STEPS))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
