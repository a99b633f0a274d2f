"""Runners of a verification: tfport's own runtime in this process, and TensorFlow in another.

A runner runs a model on trials, and returns for each the outputs or why it refused. `verify`
compares them.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tfport.errors import CannotRun, Error
from tfport.fix.certify.tensor_file import read_tensors, write_tensors
from tfport.fix.certify.trials import Trial
from tfport.formats.graph_def.signature import META_GRAPH
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model, Signature
from tfport.graph.save import save_model, written_format, written_tags
from tfport.runtime.composite import flatten_inputs, pack_outputs
from tfport.runtime.custom.registry import Registry
from tfport.runtime.feeds import as_array
from tfport.runtime.session import Session

WORKER = Path(__file__).with_name("target_worker.py")
SECONDS_TO_LOAD = 600
SECONDS_A_TRIAL = 60
MOST_MEMORY = 3 / 4
"""The fraction of the machine's memory that a process with another TensorFlow may use."""
KINDS = {SAVED_MODEL: "saved_model", META_GRAPH: "meta_graph"}
_NOT_FOR_OTHERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """The outcome of a trial: outputs by name, or why there are none."""

    outputs: dict[str, Any] | None = None
    why: str = ""
    ran: bool = True
    """Whether the trial was run at all: a process may have ended before."""


@dataclass(frozen=True, slots=True)
class ModelSide:
    """One of the two models, with the signatures to run by name."""

    model: Model
    entrances: dict[str, Signature]
    path: str | None = None
    """The path of the unchanged model; None if it must be saved for other processes."""


@dataclass(slots=True)
class RunnerResult:
    """The outcomes of one side on a runner."""

    outcomes: list[TrialOutcome] = field(default_factory=list)
    why: str = ""
    """Why there are none: the model does not load, or the runner lacks ops."""


class OwnSession:
    """tfport's runtime with one side loaded."""

    def __init__(self, side: ModelSide, registry: Registry | None) -> None:
        self.side = side
        self.registry = registry
        self.why = ""
        self._session: Session | None = None
        try:
            self._session = Session(side.model, registry=registry)
        except Error as error:
            self.why = str(error)

    def ask(self, trial: Trial) -> TrialOutcome:
        if self._session is None:
            return TrialOutcome(why=self.why, ran=False)
        signature = self.side.entrances[trial.signature]
        fetches = [name for spec in signature.outputs.values() for name in spec.tensors]
        try:
            values = self._session.run(fetches, _fed(signature, trial))
        except CannotRun as error:
            return TrialOutcome(why=str(error), ran=False)
        except Error as error:
            return TrialOutcome(why=str(error))
        except MemoryError:
            return TrialOutcome(why="out of memory")
        except Exception as error:  # an error of an engine must not stop the other trials
            return TrialOutcome(why=f"{type(error).__name__}: {error}")
        return TrialOutcome(pack_outputs(signature, values))


class OtherRunner:
    """A Python with another runtime, run in a new process."""

    runtime = "TensorFlow"
    worker = WORKER

    def __init__(self, python: str, *, own: bool = False) -> None:
        program = shutil.which(python)
        if program is None:
            raise Error(
                f"{python}: not an executable program; expected a Python with the target's {self.runtime}"
            )
        self.python = program
        self.own = own
        """Whether it is the Python that tfport runs in."""
        self.version = self.python_version = ""

    @property
    def name(self) -> str:
        return f"{self.runtime} {self.version or '(unknown)'}, Python {self.python_version or '(unknown)'}"

    def job(self, place: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        """The job for the worker; writes the model next to it if needed."""
        asked = [{"fetches": _fetches(side.entrances[trial.signature])} for trial in trials]
        return {**_placed(side, place / "model"), "trials": asked}

    def ask(self, sides: Sequence[ModelSide], trials: Sequence[Trial]) -> list[RunnerResult]:
        """Run each side on trials; the outcomes are in the same order.

        One process runs all sides, as importing a runtime takes long; a side that it does not reach,
        because it ended before, gets another process.
        """
        with tempfile.TemporaryDirectory(prefix="tfport-") as folder:
            left = [(Path(folder) / str(i), side) for i, side in enumerate(sides)]
            for place, side in left:
                self._write_job(place, side, trials)
            results: list[RunnerResult] = []
            while left:
                seconds = SECONDS_TO_LOAD + SECONDS_A_TRIAL * len(trials) * len(left)
                ended = self._run(Path(folder), [place for place, _ in left], seconds)
                reached = 1 + sum((place / "about.json").exists() for place, _ in left[1:])
                results += [self._read(place, side, trials, ended) for place, side in left[:reached]]
                left = left[reached:]
            return results

    def _write_job(self, place: Path, side: ModelSide, trials: Sequence[Trial]) -> None:
        """Write what the worker reads: the model, the inputs and the names of the outputs."""
        place.mkdir()
        job = {**self.job(place, side, trials), "memory": _memory()}
        for i, trial in enumerate(trials):
            with suppress(Error):  # the worker refuses a trial whose inputs are missing
                write_tensors(place / f"{i}.in", _feeds(side, trial))
        (place / "job.json").write_text(json.dumps(job))

    def _run(self, folder: Path, places: Sequence[Path], seconds: float) -> str:
        """Run the worker on the jobs in these places; returns how it failed, or an empty string."""
        dropped = () if self.own else _NOT_FOR_OTHERS
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        quiet = {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}
        with open(folder / "log.txt", "wb") as log:
            process = subprocess.Popen(
                [self.python, str(self.worker), *map(str, places)],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=quiet, cwd=folder,
                start_new_session=True,
            )  # fmt: skip
            try:
                code = process.wait(seconds)
            except subprocess.TimeoutExpired:
                return f"timeout after {seconds:.0f} seconds"
            finally:  # also when the user interrupts
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code == 0:
            return ""
        last = [line for line in _tail(folder / "log.txt").splitlines() if line.strip()]
        ended = f"killed by {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"{ended}: {last[-1].strip()}" if last else ended

    def _read(self, place: Path, side: ModelSide, trials: Sequence[Trial], ended: str) -> RunnerResult:
        if (place / "about.json").exists():
            about = json.loads((place / "about.json").read_text())
            self.runtime = str(about.get("runtime", self.runtime))
            self.version, self.python_version = str(about["version"]), str(about["python"])
        if (place / "load.txt").exists():
            return RunnerResult(why=(place / "load.txt").read_text(errors="replace"))
        if not (place / "loaded.txt").exists():
            return RunnerResult(why=ended or "the process ended without a message")
        return RunnerResult([self._outcome(place / str(i), side, t, ended) for i, t in enumerate(trials)])

    def _outcome(self, place: Path, side: ModelSide, trial: Trial, ended: str) -> TrialOutcome:
        if (out := place.with_suffix(".out")).exists():
            signature = side.entrances[trial.signature]
            try:
                tensors = read_tensors(out)
                return TrialOutcome(pack_outputs(signature, [tensors[name] for name in _fetches(signature)]))
            except (Error, KeyError) as error:
                return TrialOutcome(why=str(error))
        if (refused := place.with_suffix(".txt")).exists():
            return TrialOutcome(why=refused.read_text(errors="replace"))
        return TrialOutcome(why=ended, ran=False)


class TensorFlow(OtherRunner):
    """A Python with a TensorFlow."""


def live_tensorflow() -> TensorFlow | None:
    """The TensorFlow of this environment, if it is installed."""
    return TensorFlow(sys.executable, own=True) if importlib.util.find_spec("tensorflow") else None


def _placed(side: ModelSide, path: Path) -> dict[str, Any]:
    """The files of a model for a worker; saves the model if it is not on disk unchanged."""
    model = side.model
    job: dict[str, Any] = {
        "kind": KINDS.get(written_format(model), "graph_def"),
        "tags": written_tags(model),
        "checkpoint": None,
    }
    if model.format is META_GRAPH:
        save_model(model, path)
        checkpoint = str(path) if model.checkpoint is not None else None
        return {**job, "model": f"{path}.meta", "checkpoint": checkpoint}
    if side.path is None:
        save_model(model, path)
    return {**job, "model": side.path or str(path)}


def _fetches(signature: Signature) -> list[str]:
    return [name for spec in signature.outputs.values() for name in spec.tensors]


def _fed(signature: Signature, trial: Trial) -> dict[str, Any]:
    """An array for each tensor; inputs that this side does not have are dropped."""
    return flatten_inputs(signature, {n: array for n, array in trial.inputs.items() if n in signature.inputs})


def _feeds(side: ModelSide, trial: Trial) -> dict[str, Any]:
    feeds = _fed(side.entrances[trial.signature], trial)
    types = {tensor: side.model.graph.value(tensor).dtype.base for tensor in feeds}
    return {t: (types[t], as_array(array, types[t], t)) for t, array in feeds.items()}


def _memory() -> int:
    return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * MOST_MEMORY)


def _tail(path: Path, size: int = 4096) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - size))
        return file.read().decode(errors="replace")
