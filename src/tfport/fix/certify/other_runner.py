"""A Python with another runtime, run in a new process.

The process gets jobs and inputs as files and answers with files (`workers`, `tensor_file`). A process
that crashes in a trial is started again for the trials after it: the crash is the outcome of that trial.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tfport.atlas.target import Target
from tfport.errors import Error
from tfport.fix.certify.child_process import run_to_end
from tfport.fix.certify.runner_facts import RunnerFacts, Wheel
from tfport.fix.certify.runners import ModelSide, RunnerResult, TrialOutcome, fed, fetches
from tfport.fix.certify.tensor_file import read_tensors, write_tensors
from tfport.fix.certify.trials import Trial
from tfport.runtime.composite import pack_outputs
from tfport.runtime.feeds import as_array
from tfport.startup.dataclass import dataclass, field

WORKERS = Path(__file__).with_name("workers")
SECONDS_TO_LOAD = 600
SECONDS_A_TRIAL = 60
MOST_CRASHES = 3
"""After so many crashes of a model the trials that are left are not run."""
MOST_MEMORY = 3 / 4
"""The fraction of the machine's memory that a process with another runtime may use."""
_DONE = (".out", ".txt")
"""Files with the outcome of a trial: its outputs, or why there are none."""


class OtherRunner(ABC):
    """A Python with another runtime."""

    runtime: str
    worker: Path

    def __init__(
        self,
        python: str,
        *,
        own: bool = False,
        is_target: bool = False,
        runs: int = 1,
        expected: str = "",
        wheel: Wheel | None = None,
    ) -> None:
        program = shutil.which(python)
        if program is None:
            raise Error(
                f"{python}: not an executable program; expected a Python with the target's {self.runtime}"
            )
        self.python = program
        self.own = own
        """Whether it is the Python that tfport runs in."""
        self.facts = RunnerFacts(self.runtime, is_target=is_target, runs=runs, expected=expected, wheel=wheel)

    @property
    def name(self) -> str:
        return self.facts.name

    @classmethod
    @abstractmethod
    def release_of(cls, target: Target) -> tuple[str, str] | None:
        """The package and version of a target that this runner needs; None if it has none."""

    @classmethod
    def version_of(cls, target: Target) -> str:
        """The version that the runtime of a target reports; empty if it is not known."""
        return (cls.release_of(target) or ("", ""))[1]

    @abstractmethod
    def job(self, place: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        """The job for the worker: `trials` has an entry for each, None if it cannot run there."""

    def ask(self, sides: Sequence[ModelSide], trials: Sequence[Trial]) -> list[RunnerResult]:
        """Run each side on trials; the outcomes are in the same order.

        One process runs all sides, as importing a runtime takes long, until it crashes.
        """
        with tempfile.TemporaryDirectory(prefix="tfport-") as folder:
            jobs = [self._job(Path(folder, str(i)), side, trials) for i, side in enumerate(sides)]
            while left := [job for job in jobs if job.is_open]:
                seconds = SECONDS_TO_LOAD + SECONDS_A_TRIAL * len(trials) * len(left)
                command = [self.python, str(self.worker), *(str(job.place) for job in left)]
                ended = run_to_end(command, Path(folder), seconds, own=self.own)
                next((job for job in left if job.is_open), left[-1]).end(ended)
            return [self._read(job, trials) for job in jobs]

    def _job(self, place: Path, side: ModelSide, trials: Sequence[Trial]) -> _Job:
        """Write what the worker reads: the model, the inputs and the names of the outputs."""
        place.mkdir()
        job = {**self.job(place, side, trials), "memory": _memory()}
        for i, trial in enumerate(trials):
            with suppress(Error):  # the worker refuses a trial whose inputs are missing
                write_tensors(place / f"{i}.in", _feeds(side, trial))
        (place / "job.json").write_text(json.dumps(job))
        return _Job(place, side, [i for i, trial in enumerate(job["trials"]) if trial is not None])

    def _read(self, job: _Job, trials: Sequence[Trial]) -> RunnerResult:
        if (job.place / "about.json").exists():
            self.facts = self.facts.updated(json.loads((job.place / "about.json").read_text()))
        if (job.place / "load.txt").exists():
            why = (job.place / "load.txt").read_text(errors="replace")
            return RunnerResult(why=why, crashes=job.crashes)
        outcomes = [_outcome(job.place / str(i), job, trial) for i, trial in enumerate(trials)]
        return RunnerResult(outcomes, crashes=job.crashes)


@dataclass(slots=True)
class _Job:
    """A model and its trials in a folder."""

    place: Path
    side: ModelSide
    trials: list[int]
    """The trials that can run."""
    crashes: list[str] = field(default_factory=list)
    is_given_up: bool = False

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return not (self.is_given_up or (self.place / "load.txt").exists()) and (
            not (self.place / "loaded.txt").exists() or self._running is not None
        )

    @property
    def _running(self) -> int | None:
        """The first trial without an outcome: the worker runs them in order."""
        for i in self.trials:
            if not any((self.place / f"{i}{end}").exists() for end in _DONE):
                return i
        return None

    def end(self, ended: str) -> None:
        """Note how the process ended that ran this job."""
        if not self.is_open:
            return
        why = ended or "the process ended without a message"
        self.crashes.append(why)
        if not (self.place / "loaded.txt").exists():
            (self.place / "load.txt").write_text(why)
            return
        (self.place / f"{self._running}.txt").write_text(why)
        (self.place / "loaded.txt").unlink()  # loading again may crash
        self.is_given_up = len(self.crashes) >= MOST_CRASHES


def _outcome(place: Path, job: _Job, trial: Trial) -> TrialOutcome:
    if (out := place.with_suffix(".out")).exists():
        signature = job.side.entrances[trial.signature]
        try:
            tensors = read_tensors(out)
            return TrialOutcome(pack_outputs(signature, [tensors[name] for name in fetches(signature)]))
        except (Error, KeyError) as error:
            return TrialOutcome(why=str(error))
    if (refused := place.with_suffix(".txt")).exists():
        return TrialOutcome(why=refused.read_text(errors="replace"))
    return TrialOutcome(why=job.crashes[-1] if job.crashes else "", ran=False)


def _feeds(side: ModelSide, trial: Trial) -> dict[str, Any]:
    feeds = fed(side.entrances[trial.signature], trial)
    types = {tensor: side.model.graph.value(tensor).dtype.base for tensor in feeds}
    return {t: (types[t], as_array(array, types[t], t)) for t, array in feeds.items()}


def _memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MOST_MEMORY)
