"""A Python with another runtime, run in a new process.

The process gets jobs and inputs as files and answers with files (`workers`). A process that crashes in a
trial is started again for the trials after it: the crash is the outcome of that trial.

Tensors are written without pickle, for processes with another Python and TensorFlow: a length, a JSON list
of headers (name, dtype, shape, bytes, lengths of strings), and the elements of one tensor after the other.
`workers.worker_jobs` reads and writes the same format.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import struct
import subprocess
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.atlas.target import Target
from tfport.errors import Error, UnreadableFile
from tfport.fix.certify.provenance import RunnerFacts, Wheel
from tfport.fix.certify.runners import ModelSide, RunnerResult, TrialOutcome, fed, fetches
from tfport.fix.certify.trials import Trial
from tfport.graph.dtypes import STRING, DType
from tfport.operating_system import how_ended, interrupts_blocked, kill_group, physical_memory, process_group
from tfport.runtime.composite import pack_outputs
from tfport.runtime.feeds import as_array
from tfport.startup.dataclass import dataclass, field

if TYPE_CHECKING:
    from numpy.typing import NDArray


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
    reads_only_target = False
    """Whether the files that it reads are those of its target alone, so that nothing else need run them."""

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
        self.python = os.path.abspath(program)  # it is started in another folder
        self.own = own
        """Whether it is the Python that tfport runs in."""
        self.facts = RunnerFacts(self.runtime, is_target=is_target, runs=runs, expected=expected, wheel=wheel)

    @property
    def name(self) -> str:
        return self.facts.name

    @property
    def is_enough(self) -> bool:
        """Whether a rewritten model that this runner answers with need not be run by tfport too."""
        return self.reads_only_target and self.facts.is_target

    @classmethod
    @abstractmethod
    def release_of(cls, target: Target) -> tuple[str, str] | None:
        """The package and version of a target that this runner needs; None if it has none."""

    @classmethod
    def version_of(cls, target: Target) -> str:
        """The version that the runtime of a target reports; empty if it is not known."""
        return (cls.release_of(target) or ("", ""))[1]

    @abstractmethod
    def job(self, folder: Path, side: ModelSide, trials: Sequence[Trial]) -> dict[str, Any]:
        """The job for the worker: `trials` has an entry for each, None if it cannot run there."""

    def order(self, job: Mapping[str, Any], trials: Sequence[Trial]) -> Sequence[int]:
        """In which order the worker runs the trials."""
        return range(len(trials))

    def ask(self, sides: Sequence[ModelSide], trials: Sequence[Trial]) -> list[RunnerResult]:
        """Run each side on trials; the outcomes are in the same order.

        One process runs all sides, as importing a runtime takes long, until it crashes.
        """
        with tempfile.TemporaryDirectory(prefix="tfport-") as folder:
            jobs = [self._job(Path(folder, str(i)), side, trials) for i, side in enumerate(sides)]
            while left := [job for job in jobs if job.is_open]:
                seconds = SECONDS_TO_LOAD + SECONDS_A_TRIAL * len(trials) * len(left)
                command = [self.python, str(self.worker), *(str(job.folder) for job in left)]
                ended = run_to_end(command, Path(folder), seconds, own=self.own)
                next((job for job in left if job.is_open), left[-1]).end(ended)
            return [self._read(job, trials) for job in jobs]

    def _job(self, folder: Path, side: ModelSide, trials: Sequence[Trial]) -> _Job:
        """Write what the worker reads: the model, the inputs and the names of the outputs."""
        folder.mkdir()
        job = {**self.job(folder, side, trials), "memory": _memory()}
        for i, trial in enumerate(trials):
            if job["trials"][i] is None:
                continue
            with suppress(Error):  # the worker refuses a trial whose inputs are missing
                write_tensors(folder / f"{i}.in", _feeds(side, trial))
        job["order"] = [i for i in self.order(job, trials) if job["trials"][i] is not None]
        (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
        return _Job(folder, side, job["order"])

    def _read(self, job: _Job, trials: Sequence[Trial]) -> RunnerResult:
        if (job.folder / "about.json").exists():
            self.facts = self.facts.updated(json.loads((job.folder / "about.json").read_text("utf-8")))
        if (job.folder / "load.txt").exists():
            why = (job.folder / "load.txt").read_text("utf-8", "replace")
            return RunnerResult(why=why, crashes=job.crashes)
        outcomes = [_outcome(job.folder / str(i), job, trial) for i, trial in enumerate(trials)]
        return RunnerResult(outcomes, crashes=job.crashes)


@dataclass(slots=True)
class _Job:
    """A model and its trials in a folder."""

    folder: Path
    side: ModelSide
    trials: list[int]
    """The trials that can run."""
    crashes: list[str] = field(default_factory=list)
    is_given_up: bool = False

    @property
    def is_open(self) -> bool:
        """Whether something is left to do."""
        return not (self.is_given_up or (self.folder / "load.txt").exists()) and (
            not (self.folder / "loaded.txt").exists() or self._running is not None
        )

    @property
    def _running(self) -> int | None:
        """The first trial without an outcome: the worker runs them in order."""
        for i in self.trials:
            if not any((self.folder / f"{i}{end}").exists() for end in _DONE):
                return i
        return None

    def end(self, ended: str) -> None:
        """Note how the process ended that ran this job."""
        if not self.is_open:
            return
        why = ended or "the process ended without a message"
        self.crashes.append(why)
        if not (self.folder / "loaded.txt").exists():
            (self.folder / "load.txt").write_text(why, encoding="utf-8")
            return
        (self.folder / f"{self._running}.txt").write_text(why, encoding="utf-8")
        (self.folder / "loaded.txt").unlink()  # loading again may crash
        self.is_given_up = len(self.crashes) >= MOST_CRASHES


def _outcome(path: Path, job: _Job, trial: Trial) -> TrialOutcome:
    if (out := path.with_suffix(".out")).exists():
        signature = job.side.signatures[trial.signature]
        try:
            tensors = read_tensors(out)
            return TrialOutcome(pack_outputs(signature, [tensors[name] for name in fetches(signature)]))
        except (Error, KeyError) as error:
            return TrialOutcome(why=str(error))
    if (refused := path.with_suffix(".txt")).exists():
        return TrialOutcome(why=refused.read_text("utf-8", "replace"))
    return TrialOutcome(why=job.crashes[-1] if job.crashes else "", ran=False)


def _feeds(side: ModelSide, trial: Trial) -> dict[str, Any]:
    feeds = fed(side.signatures[trial.signature], trial)
    types = {tensor: side.model.graph.value(tensor).dtype.base for tensor in feeds}
    return {t: (types[t], as_array(array, types[t], t)) for t, array in feeds.items()}


def _memory() -> int:
    return int(physical_memory() * MOST_MEMORY)


# Run a program to its end: with a time limit, its output in a file, and nothing left when interrupted.

LOG = "log.txt"
LONGEST = 64 * 1024
_NOT_FOR_OTHERS = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "VIRTUAL_ENV")


def run_to_end(command: Sequence[str], folder: Path, seconds: float, *, own: bool = False) -> str:
    """Run a program in a folder; returns how it failed, or an empty string.

    `own` is whether it is the Python that tfport runs in, which needs its own environment variables.
    """
    process: subprocess.Popen[bytes] | None = None
    with open(folder / LOG, "wb") as log:
        try:
            with interrupts_blocked():  # one while a process is made would leave it behind, unknown
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment(own),
                    cwd=folder, **process_group(),
                )  # fmt: skip
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"timeout after {seconds:.0f} seconds"
        finally:  # also when the user interrupts
            if process is not None:
                kill_group(process)
                process.wait()
    if code == 0:
        return ""
    ended = how_ended(code)
    lines = log_lines(folder)
    return f"{ended}: {lines[-1]}" if lines else ended


def log_lines(folder: Path) -> list[str]:
    """The last lines that the program printed."""
    path = folder / LOG
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - LONGEST))
        text = file.read().decode(errors="replace")
    return [line.strip() for line in text.splitlines() if line.strip()]


def _environment(own: bool) -> Mapping[str, str]:
    dropped = () if own else _NOT_FOR_OTHERS
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1"}


# Files of tensors.


def write_tensors(path: Path, tensors: Mapping[str, tuple[DType, NDArray[Any]]]) -> None:
    headers, blobs = [], []
    for name, (dtype, array) in tensors.items():
        header: dict[str, Any] = {"name": name, "dtype": dtype.name, "shape": list(array.shape)}
        if dtype == STRING:
            texts = [bytes(text) for text in array.ravel().tolist()]
            header["lengths"] = [len(text) for text in texts]
            blobs.append(b"".join(texts))
        else:
            blobs.append(np.ascontiguousarray(array).tobytes())
        headers.append({**header, "bytes": len(blobs[-1])})
    head = json.dumps(headers).encode()
    path.write_bytes(b"".join([struct.pack("<Q", len(head)), head, *blobs]))


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a file; shapes and lengths in its header must match the number of bytes."""
    data = path.read_bytes()
    try:
        length = struct.unpack("<Q", data[:8])[0]
        tensors, at = {}, 8 + length
        for header in json.loads(data[8 : 8 + length]):
            raw = data[at : at + header["bytes"]]
            at += len(raw)
            tensors[header["name"]] = _array(header, raw)
        return tensors
    except (KeyError, TypeError, ValueError, struct.error) as error:
        raise UnreadableFile(f"{path.name}: cannot read the tensors of the other process: {error}") from None


def _array(header: dict[str, Any], raw: bytes) -> NDArray[Any]:
    shape = tuple(int(size) for size in header["shape"])
    dtype = DType.parse(header["dtype"])
    if dtype != STRING:
        return np.frombuffer(raw, dtype.numpy).reshape(shape)
    lengths = header["lengths"]
    if len(lengths) != math.prod(shape) or sum(lengths) != len(raw):
        raise ValueError(
            f"strings of {sum(lengths)} bytes do not match shape {list(shape)} and {len(raw)} bytes"
        )
    flat = np.empty(len(lengths), object)
    ends = np.cumsum(lengths, dtype=np.int64).tolist()
    flat[:] = [raw[end - size : end] for size, end in zip(lengths, ends, strict=True)]
    return flat.reshape(shape)
