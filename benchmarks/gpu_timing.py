"""What the contenders of the GPU benchmark share: batches, inputs, times, and how they report."""

import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

BATCHES = (1, 8, 64)
PRECISIONS = ("tf32", "float32", "float16", "bfloat16")
CHOSEN_PRECISIONS = "GPU_PRECISIONS"
"""The environment variable with those that tfport is measured in."""
RUNS, WARM_UP = 40, 8
LEAST_RUNS, LEAST_WARM_UP = 7, 3
SECONDS = 1.0
"""A series of runs ends after this time, but not before it has this number of runs."""
SIGNATURE = "serving_default"


def median_ms(call: Callable[[], Any]) -> float:
    """The median time of a call that ends when the GPU has finished."""
    _times(call, WARM_UP, LEAST_WARM_UP)
    return round(statistics.median(_times(call, RUNS, LEAST_RUNS)) * 1e3, 3)


def _times(call: Callable[[], Any], most: int, least: int) -> list[float]:
    times: list[float] = []
    end = time.perf_counter() + SECONDS
    while len(times) < most and (len(times) < least or time.perf_counter() < end):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return times


def inputs_of(path: Path, batch: int) -> dict[str, Any]:
    """Inputs like those of the model's file, for a batch."""
    random = np.random.default_rng(0)
    made: dict[str, Any] = {}
    for name, example in np.load(path / "inputs_1.npz").items():
        shape = (batch, *example.shape[1:])
        if example.dtype.kind == "S":
            made[name] = np.array([example[0]] * batch, object)
        elif example.dtype.kind in "iu":
            made[name] = random.integers(0, max(int(example.max()), 1), shape).astype(example.dtype)
        else:
            made[name] = random.random(shape, np.float32)
    return made


def report(path: Path, contender: str, precision: str, times: dict[str, Any]) -> None:
    """Print a result at once: what was measured before a process ends is not lost."""
    line = {"model": path.name, "contender": contender, "precision": precision, "times": times}
    print(json.dumps(line), flush=True)


def each_model(measure: Callable[[Path], None]) -> None:
    """Measure the models of the command line; what fails is told, and the next is measured."""
    for path in map(Path, sys.argv[1:]):
        try:
            measure(path)
        except Exception as error:  # peers raise many exception classes
            print(
                json.dumps({"model": path.name, "failed": f"{type(error).__name__}: {error}"[:500]}),
                flush=True,
            )
