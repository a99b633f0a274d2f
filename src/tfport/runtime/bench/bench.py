"""Contenders measured in turn, each in a process of its own, so that a busy moment hits them alike."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tfport.errors import Error
from tfport.graph.model import Model
from tfport.runtime.bench.samples import sample_inputs
from tfport.runtime.select_signature import WHOLE_GRAPH, select_signature

ROUNDS = 3
WORKER = "tfport.runtime.bench.worker"


@dataclass(frozen=True, slots=True)
class Measured:
    """What one contender took for one size of batch; of several rounds, the medians of the best."""

    contender: str
    batch: int
    latency: float
    """Seconds for an answer, median."""
    slowest: float
    """That of which 95 in 100 are no slower."""
    first: float
    """From the start of the process to the first answer."""
    resident: int
    """Bytes of memory held afterwards."""

    @property
    def throughput(self) -> float:
        """Rows a second."""
        return self.batch / self.latency


def bench_model(
    model: Model,
    path: str,
    *,
    signature: str | None = None,
    batches: Sequence[int] = (1,),
    given: dict[str, Any] | None = None,
    seconds: float = 2.0,
    threads: int | None = None,
    engine: str = "onnxruntime",
    libraries: Sequence[str] = (),
    contenders: Sequence[str] | None = None,
) -> list[Measured]:
    """Measure tfport, and TensorFlow where it is installed; one row for each and each size of batch."""
    chosen = select_signature(model, signature)
    if chosen.name == WHOLE_GRAPH:
        raise Error(f"{path}: it has no signature; expected a SavedModel")
    names = contenders or available()
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        for batch in batches:
            inputs = _written(sample_inputs(chosen, batch, given or {}), folder)
            job = {"model": os.path.abspath(path), "signature": chosen.name, "inputs": inputs,
                   "engine": engine, "threads": threads, "seconds": seconds / ROUNDS,
                   "libraries": [os.path.abspath(library) for library in libraries]}  # fmt: skip
            measured += _in_turn(names, job, batch, folder)
    return measured


def available() -> list[str]:
    return ["tfport"] + ["tensorflow"] * (importlib.util.find_spec("tensorflow") is not None)


def _written(inputs: dict[str, Any], folder: str) -> str:
    path = f"{folder}/inputs.npz"
    np.savez(path, **{k: a.astype(bytes) if a.dtype == object else a for k, a in inputs.items()})
    return path


def _in_turn(names: Sequence[str], job: dict[str, Any], batch: int, folder: str) -> list[Measured]:
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(ROUNDS):
        for name in names:
            rounds[name].append(
                run_worker([sys.executable, "-m", WORKER], {**job, "contender": name}, folder)
            )
    return [summed_up(name, batch, results) for name, results in rounds.items()]


def run_worker(command: Sequence[str], job: dict[str, Any], folder: str) -> dict[str, Any]:
    """What a worker says to a job."""
    file = Path(folder) / "job.json"
    file.write_text(json.dumps(job))
    quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run([*command, str(file)], capture_output=True, text=True, env=quiet)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Error(f"{job['contender']} cannot run it: {lines[-1] if lines else done.returncode}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def summed_up(name: str, batch: int, rounds: Sequence[dict[str, Any]]) -> Measured:
    best = min(rounds, key=lambda result: statistics.median(result["latencies"]))
    ordered = sorted(best["latencies"])
    return Measured(
        name,
        batch,
        statistics.median(ordered),
        ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))],
        min(result["first"] for result in rounds),
        min(result["resident"] for result in rounds),
    )
