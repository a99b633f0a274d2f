"""Worker processes that examine models, each with a bound on its time and memory.

A model that takes too long, needs too much memory or ends its process is one row with a sentence; another
process continues with the rest of its folder.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, cast

from tfport.audit.examine import STOPPED, UNREADABLE, AuditQuestions, Row, examine_folder
from tfport.audit.staging import staged
from tfport.audit.store import ModelFolder, name_and_version
from tfport.errors import Error
from tfport.operating_system import (
    KILLED,
    how_ended,
    interrupts_blocked,
    resident_memory,
    start_resource_tracker,
)
from tfport.startup.dataclass import dataclass, field

BEGIN, ROW, DONE = "begin", "row", "done"
LARGEST_IDLE = 1 << 30
"""A worker that holds more memory than this after a folder is replaced."""
SPAWN = multiprocessing.get_context("spawn")  # a fork would share the open atlas


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """How many workers there are, and what each model may cost."""

    workers: int
    seconds: float
    memory: int
    """Bytes of a worker."""


@dataclass
class FolderTask:
    """A folder to examine, and its rows so far."""

    folder: ModelFolder
    by_path: dict[str, Row] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        return list(self.by_path.values())

    def add(self, row: Row) -> None:
        """Add a row; a model is examined in steps, and the last row counts."""
        self.by_path[row["path"]] = row


class Examiners:
    """Processes that examine folders."""

    def __init__(self, questions: AuditQuestions, limits: WorkerLimits) -> None:
        self.questions, self.limits = questions, limits
        self.workers: list[_Worker] = []

    def __enter__(self) -> Examiners:
        start_resource_tracker()
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self.workers:
            worker.stop()

    def examine(self, folders: Iterable[ModelFolder]) -> Iterator[tuple[ModelFolder, list[Row]]]:
        """Each folder with the rows of its models, in the order in which they are done."""
        left, again = iter(folders), list[FolderTask]()
        while True:
            idle = [worker for worker in self.workers if worker.task is None]
            while idle or len(self.workers) < self.limits.workers:
                task = again.pop() if again else next((FolderTask(folder) for folder in left), None)
                if task is None:
                    break
                worker = idle.pop() if idle else self._start()
                worker.give(task)
            busy = {worker.connection: worker for worker in self.workers if worker.task is not None}
            if not busy:
                return
            soonest = min(worker.deadline for worker in busy.values())
            ready = wait(list(busy), timeout=max(0.0, soonest - time.monotonic()))
            for connection in ready:
                yield from self._heard(busy[cast(Connection, connection)], again)
            for worker in busy.values():
                if worker.task is not None and time.monotonic() > worker.deadline:
                    why = f"not examined within {self.limits.seconds:g} seconds (--timeout)"
                    yield from self._ended(worker, why, again)

    def _start(self) -> _Worker:
        worker = _Worker(self.questions, self.limits)
        self.workers.append(worker)
        return worker

    def _heard(self, worker: _Worker, again: list[FolderTask]) -> Iterator[tuple[ModelFolder, list[Row]]]:
        try:
            message, value = worker.connection.recv()
        except (EOFError, OSError):
            yield from self._ended(worker, worker.why_ended(), again)
            return
        assert worker.task is not None
        if message == BEGIN:
            worker.begin(value)
        elif message == ROW:
            worker.task.add(value)
        else:
            task, worker.task = worker.task, None
            if value:  # it holds much memory
                self.workers.remove(worker)
                worker.stop()
            yield task.folder, task.rows

    def _ended(
        self, worker: _Worker, why: str, again: list[FolderTask]
    ) -> Iterator[tuple[ModelFolder, list[Row]]]:
        """Note the model that a worker was at, and have the rest of its folder examined by another."""
        self.workers.remove(worker)
        worker.stop()
        task = worker.task
        assert task is not None
        if worker.path not in task.by_path:
            task.add(_stopped(worker.path, task.folder, why, time.monotonic() - worker.started))
        if worker.path == task.folder.path:  # its only model, or not even its models are known
            yield task.folder, task.rows
        else:
            again.append(task)


def _stopped(path: str, folder: ModelFolder, why: str, seconds: float) -> Row:
    name, version = name_and_version(path, folder)
    row = {"path": path, "name": name, "version": version, "owner": folder.owner, "status": STOPPED}
    return {**row, "error": f"{path}: {why}", "seconds": seconds, "bytes": sum(folder.files.values())}


class _Worker:
    """A process, and the folder that it examines."""

    def __init__(self, questions: AuditQuestions, limits: WorkerLimits) -> None:
        self.limits = limits
        self.connection, inner = SPAWN.Pipe()
        self.process: BaseProcess = SPAWN.Process(
            target=_examine_until_closed, args=(inner, questions, limits.memory), daemon=True
        )
        with interrupts_blocked():  # it ends with this process, without messages of its own
            self.process.start()
        inner.close()
        self.task: FolderTask | None = None
        self.path = ""
        self.started = self.deadline = 0.0

    def give(self, task: FolderTask) -> None:
        self.task = task
        self.begin(task.folder.path)
        self.deadline += self.limits.seconds  # it may have to start first
        with suppress(OSError):  # it ended: the next message is the end of its connection
            self.connection.send((task.folder, list(task.by_path)))

    def begin(self, path: str) -> None:
        self.path, self.started = path, time.monotonic()
        self.deadline = self.started + self.limits.seconds

    def why_ended(self) -> str:
        self.process.join(timeout=5)
        code = self.process.exitcode or 0
        if code == KILLED:
            return "its process was killed, possibly for lack of memory"
        if code == NO_MEMORY:
            return "needs more memory than --memory allows"
        if code == DEFECT:
            return "tfport failed; please report the message above"
        return f"its process ended ({how_ended(code)}), possibly at the memory limit (--memory)"

    def stop(self) -> None:
        self.connection.close()
        self.process.kill()
        self.process.join()


# What runs in a worker.


NO_MEMORY, DEFECT = 70, 71
"""Exit codes of a worker at its memory limit, and at a defect of tfport."""


def _examine_until_closed(connection: Connection, questions: AuditQuestions, memory: int) -> None:
    """Examine folders. What stops the process costs the row of the model that it was at."""
    try:
        _examine_folders(connection, questions, memory)
    except MemoryError:
        os._exit(NO_MEMORY)
    except (EOFError, OSError):  # nobody asks any more
        os._exit(0)
    except Exception:
        import traceback

        traceback.print_exc()
        os._exit(DEFECT)


def _examine_folders(connection: Connection, questions: AuditQuestions, memory: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    questions.targets()  # before the limit, so that no model pays for the atlas
    _limit_memory(memory)
    send: Callable[[tuple[str, Any]], None] = connection.send
    while True:
        folder, without = connection.recv()
        for row in _rows(folder, without, questions, lambda path: send((BEGIN, path))):
            send((ROW, row))
        send((DONE, resident_memory() > min(memory // 2, LARGEST_IDLE)))


def _rows(
    folder: ModelFolder, without: list[str], questions: AuditQuestions, begin: Callable[[str], None]
) -> Iterator[Row]:
    current = [folder.path]

    def note(path: str) -> None:
        current[0] = path
        begin(path)

    try:
        with staged(folder) as path:
            yield from examine_folder(folder, path, questions, note, without)
    except Error as error:
        yield {**_stopped(current[0], folder, "", 0.0), "status": UNREADABLE, "error": str(error)}


def _limit_memory(size: int) -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    except (ImportError, ValueError, OSError):  # not supported on this system: only time is limited
        pass
