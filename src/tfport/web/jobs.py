"""Long work: a command of tfport in a process of its own, which can be canceled.

A job runs `python -m tfport … --json` in a temporary folder of its own. Its progress comes from standard
error, its result is the JSON on standard output. Only a few run at the same time, and the last ones are
kept until the server ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from tfport.operating_system import kill_group, process_group
from tfport.progress_step import LINES
from tfport.startup.dataclass import dataclass, field
from tfport.web.json_answer import RefusedRequest, unknown

RUNNING, DONE, FAILED, CANCELED = "running", "done", "failed", "canceled"
MOST_KEPT = 20
MOST_OUTPUT = 64 << 20
"""The most bytes of a result."""
LONGEST_LINE = 1 << 16
BUSY = 429
Finish = Callable[[dict[str, Any], Path], Awaitable[dict[str, Any]]]
"""Makes the result of a job from what its command printed; the folder of the job has its files."""


def read_step(line: str) -> tuple[str, float | None] | None:
    """What a line says that the command is doing, and how much of it is done."""
    if not line.startswith("{"):
        return None
    try:
        document = json.loads(line)
        stage, fraction = document.get("progress"), document.get("fraction")
    except (ValueError, AttributeError):
        return None
    if not isinstance(stage, str):
        return None
    return stage, float(fraction) if isinstance(fraction, int | float) and 0 <= fraction <= 1 else None


@dataclass(eq=False)
class Job:
    """One job and its state."""

    kind: str
    model: str
    folder: Path
    stage: str
    fraction: float | None = None
    """How much of the stage is done, if it knows."""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: str = RUNNING
    result: dict[str, Any] | None = None
    error: str | None = None
    started: float = field(default_factory=time.monotonic)
    ended: float | None = None
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "version": 1,
            "id": self.id,
            "kind": self.kind,
            "model": self.model,
            "state": self.state,
            "stage": self.stage,
            "fraction": self.fraction,
            "seconds": (self.ended or time.monotonic()) - self.started,
            "result": self.result,
            "error": self.error,
        }


class JobBoard:
    """All jobs of a server."""

    def __init__(self, folder: Path, *, most_running: int) -> None:
        self._folder, self._most = folder, most_running
        self._jobs: dict[str, Job] = {}

    def find(self, id: str) -> Job:
        if id not in self._jobs:
            raise unknown(f"there is no job {id}")
        return self._jobs[id]

    def new_folder(self) -> Path:
        """A folder for the files of a job, before it starts; refused if enough jobs run."""
        running = sum(job.state == RUNNING for job in self._jobs.values())
        if running >= self._most:
            raise RefusedRequest(BUSY, f"{running} jobs are running; wait for one, or cancel it")
        folder = self._folder / f"job-{secrets.token_hex(8)}"
        folder.mkdir(parents=True)
        return folder

    def start(
        self, kind: str, model: str, folder: Path, arguments: Sequence[str], finish: Finish, stage: str
    ) -> Job:
        """Run a command; answers at once."""
        job = Job(kind, model, folder, stage)
        self._jobs[job.id] = job
        self._drop_old()
        job.task = asyncio.ensure_future(self._run(job, arguments, finish))
        return job

    def cancel(self, id: str) -> Job:
        """Stop a job; one that has ended stays as it is."""
        job = self.find(id)
        if job.state == RUNNING:
            self._end(job, CANCELED, "canceled")
            _kill(job)
        return job

    async def close(self) -> None:
        """Stop all jobs."""
        for job in self._jobs.values():
            self.cancel(job.id)
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)

    def _drop_old(self) -> None:
        ended = [job for job in self._jobs.values() if job.state != RUNNING]
        for job in ended[: max(0, len(self._jobs) - MOST_KEPT)]:
            del self._jobs[job.id]
            shutil.rmtree(job.folder, ignore_errors=True)

    async def _run(self, job: Job, arguments: Sequence[str], finish: Finish) -> None:
        output = job.folder / "result.json"
        try:
            code, sentence = await self._execute(job, arguments, output)
            if job.state != RUNNING:
                return
            printed = _printed(output)
            if printed is None:
                self._end(job, FAILED, sentence or f"the command ended with the code {code}")
                return
            job.stage, job.fraction = "finishing", None
            job.result = await finish(printed, job.folder)
            self._end(job, DONE, None)
        except Exception as error:  # a job must end, whatever happens
            self._end(job, FAILED, str(error) or type(error).__name__)

    async def _execute(self, job: Job, arguments: Sequence[str], output: Path) -> tuple[int, str]:
        """Run the command; its exit code, and the last sentence on standard error."""
        with output.open("wb") as file:
            job.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tfport",
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=asyncio.subprocess.PIPE,
                cwd=job.folder,
                env={**os.environ, LINES: "1"},
                limit=LONGEST_LINE,
                **process_group(),
            )
        if job.state != RUNNING:  # canceled while it was starting
            _kill(job)
        sentence = await self._follow(job)
        return await job.process.wait(), sentence

    async def _follow(self, job: Job) -> str:
        """Read progress until the process ends; the last other line that it printed."""
        assert job.process is not None
        assert job.process.stderr is not None
        last = ""
        while True:
            try:
                line = await job.process.stderr.readline()
            except ValueError:  # a line that is too long
                continue
            if not line:
                return last.removeprefix("tfport: ")
            text = line.decode(errors="replace").strip()
            step = read_step(text)
            if step is not None:
                job.stage, job.fraction = step
            elif text:
                last = text

    def _end(self, job: Job, state: str, error: str | None) -> None:
        if job.state == RUNNING:
            job.state, job.error, job.ended = state, error, time.monotonic()


def _printed(path: Path) -> dict[str, Any] | None:
    """The JSON that a command printed; None if it printed none."""
    size = path.stat().st_size
    if not size:
        return None
    if size > MOST_OUTPUT:
        raise RefusedRequest(413, f"the result has {size:,} bytes, more than {MOST_OUTPUT:,}")
    document = json.loads(path.read_bytes())
    return document if isinstance(document, dict) else None


def _kill(job: Job) -> None:
    """End the process of a job and all that it started."""
    if job.process is not None and job.process.returncode is None:
        kill_group(job.process)
