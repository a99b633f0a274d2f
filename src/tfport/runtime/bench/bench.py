"""Measure contenders in turn, each in its own process, so that other load affects them equally.

Inputs that the caller does not pass are generated from the signature's types and shapes.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tfport.engine_names import USUAL
from tfport.errors import Error
from tfport.graph.dtypes import STRING
from tfport.graph.graph_outputs import WHOLE_GRAPH
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.engines.gpu.gpu_options import NO_GPU_OPTIONS, TF32, GpuOptions
from tfport.runtime.select_signature import select_signature
from tfport.startup.dataclass import dataclass

ROUNDS = 3
EXCEPTION = re.compile(r"[\w.]+(Error|Failed|Exception): ")
WORKER = "tfport.runtime.bench.worker"


@dataclass(frozen=True, slots=True)
class Measured:
    """Results of one contender for one batch size: the medians of its best round."""

    contender: str
    batch: int
    latency: float
    """Median seconds per call."""
    slowest: float
    """95th percentile of the seconds per call."""
    first: float
    """Seconds from process start to first answer."""
    resident: int
    """Resident memory afterwards, in bytes."""
    changes_order: bool = False
    """Whether its answers come in another order than those of the CPU; asked of a GPU in TF32."""

    @property
    def throughput(self) -> float:
        """Rows per second."""
        return self.batch / self.latency


def bench_model(
    model: Model,
    path: str,
    *,
    signature: str | None = None,
    batches: Sequence[int] = (1,),
    inputs: dict[str, Any] | None = None,
    seconds: float = 2.0,
    threads: int | None = None,
    engine: str = USUAL,
    device: str = "cpu",
    gpu: GpuOptions = NO_GPU_OPTIONS,
    libraries: Sequence[str] = (),
    ops_files: Sequence[str] = (),
    contenders: Sequence[str] | None = None,
) -> list[Measured]:
    """Measure tfport, and TensorFlow if it is installed; one result per contender and batch size."""
    chosen = select_signature(model, signature)
    if chosen.name == WHOLE_GRAPH:
        raise Error(f"{path}: no signature; expected a SavedModel with signatures")
    names = contenders or available()
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for batch in batches:
            file = _save(sample_inputs(chosen, batch, inputs or {}), folder)
            job = {"model": os.path.abspath(path), "signature": chosen.name, "inputs": file,
                   "engine": engine, "threads": threads, "seconds": seconds / ROUNDS,
                   "device": device, "gpu": asdict(gpu),
                   "libraries": [os.path.abspath(library) for library in libraries],
                   "ops_files": [os.path.abspath(file) for file in ops_files]}  # fmt: skip
            measured += _measure_in_turn(names, job, batch, folder)
    return measured


def available() -> list[str]:
    """Return the contenders that are installed."""
    return ["tfport"] + ["tensorflow"] * (importlib.util.find_spec("tensorflow") is not None)


def _save(inputs: dict[str, Any], folder: str) -> str:
    path = f"{folder}/inputs.npz"
    np.savez(path, **{k: a.astype(bytes) if a.dtype == object else a for k, a in inputs.items()})
    return path


def _measure_in_turn(names: Sequence[str], job: dict[str, Any], batch: int, folder: str) -> list[Measured]:
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    may_change = job["device"] != "cpu" and job["gpu"]["precision"] == TF32
    for number in range(ROUNDS):
        for name in names:
            compares = may_change and name == "tfport" and number == 0
            contender_job = {**job, "contender": name, "compares_order": compares}
            rounds[name].append(run_worker([sys.executable, "-m", WORKER], contender_job, folder))
    return [summarize(name, batch, results) for name, results in rounds.items()]


def run_worker(command: Sequence[str], job: dict[str, Any], folder: str) -> dict[str, Any]:
    """Run a job in a worker process and return its result."""
    file = Path(folder) / "job.json"
    file.write_text(json.dumps(job), encoding="utf-8")
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, env=quiet)
    if done.returncode:
        raise Error(f"{job['contender']} failed: {_error_line(done.stderr) or done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _error_line(stderr: str) -> str:
    """The line that names the exception, or the last: TensorFlow prints more lines after its errors.

    Errors of tfport are sentences without the name of their class.
    """
    lines = stderr.strip().splitlines()
    named = (line for line in reversed(lines) if EXCEPTION.match(line))
    line = next(named, lines[-1] if lines else "")
    return line.partition(": ")[2] if line.startswith("tfport.errors.") else line


def summarize(name: str, batch: int, rounds: Sequence[dict[str, Any]]) -> Measured:
    """Return the results of several rounds of one contender."""
    best = min(rounds, key=lambda result: statistics.median(result["latencies"]))
    ordered = sorted(best["latencies"])
    return Measured(
        name,
        batch,
        statistics.median(ordered),
        ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
        min(result["first"] for result in rounds),
        min(result["resident"] for result in rounds),
        any(result.get("changes_order", False) for result in rounds),
    )


def sample_inputs(signature: Signature, batch: int, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return an array for each input: the first row of the given array, repeated, or a generated one."""
    return {
        name: _repeat(inputs[name], batch) if name in inputs else _generate(name, spec, batch)
        for name, spec in signature.inputs.items()
    }


def _repeat(array: Any, batch: int) -> Any:
    array = np.asarray(array)
    return np.repeat(array[:1], batch, axis=0) if array.ndim and len(array) else array


def _generate(name: str, spec: TensorSpec, batch: int) -> Any:
    """Return an array with `batch` rows if the first axis is unknown, and 1 for other unknown axes."""
    if len(spec.tensors) > 1:
        raise Error(f"cannot generate the {spec.form} input `{name}`; pass it with --inputs")
    sizes = [batch if i == 0 else 1 for i in range(len(spec.shape.dims or ()))]
    shape = [default if d is None else d for default, d in zip(sizes, spec.shape.dims or (), strict=True)]
    if spec.dtype == STRING:
        return np.full(shape, b"", object)
    if spec.dtype.is_integer:
        return np.ones(shape, spec.dtype.numpy)
    return np.random.default_rng(0).random(shape).astype(spec.dtype.numpy)
