"""TensorFlow on the models of `real_gpu.py`, on the same GPU.

    TFLIBS=FOLDER python benchmarks/real_gpu_tensorflow.py FOLDER RESULT.json

Each model is exported as a SavedModel with the same tensors, and run by TensorFlow's libraries (see
`gpu_tensorflow.py`) in a process of its own. Times and differences are added to the rows of RESULT.json.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from gpu_tensorflow import Model, libraries
from real_gpu import JOBS, ROUNDS, SECONDS, TENSORFLOW, WORKERS, differences, inputs_of, last_row, turn

import tfport

FEED, FETCH = "--feed", "--fetch"
PREPARE, MEASURE = "prepare", "measure"
SAVED, ANSWERS = "saved", "answers.npz"
COMMAND = "from tfport.cli.main import main; raise SystemExit(main())"


def run(folder: Path, result: Path) -> None:
    rows = {row["name"]: row for row in json.loads(result.read_text())}
    jobs = json.loads((folder / JOBS).read_text())

    def compare(number: int) -> None:
        row = rows.setdefault(jobs[number]["name"], {"name": jobs[number]["name"]})
        row[TENSORFLOW] = in_a_process(folder, number)
        result.write_text(json.dumps(list(rows.values()), indent=1))

    with ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(compare, range(len(jobs))))
    print(f"{sum('ms' in row.get(TENSORFLOW, {}) for row in rows.values())} models")


def in_a_process(folder: Path, number: int) -> dict[str, Any]:
    """What TensorFlow does with a model, or how its process ended."""
    row: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as place:
        for step in (PREPARE, MEASURE):
            command = [sys.executable, __file__, step, str(folder), str(number), place]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
            except subprocess.TimeoutExpired:
                return {"error": f"{step}: not done in {SECONDS} s"}
            row = last_row(done.stdout.splitlines())
            if done.returncode:
                return row | {"error": f"{step}: exit {done.returncode}: {done.stderr[-600:]}"}
    return row


def prepare(folder: Path, number: int, place: Path) -> None:
    """Write the model and tfport's answers; apart, as ONNX Runtime and TensorFlow share symbols."""
    job = json.loads((folder / JOBS).read_text())[number]
    path, feeds = folder / job["model"], inputs_of(folder, job)
    answers = tfport.Session(str(path)).run(job["fetches"], feeds)
    with (place / ANSWERS).open("wb") as file:
        np.savez(file, *(a.astype(bytes) if a.dtype == object else a for a in map(np.asarray, answers)))
    if path.is_dir():
        (place / SAVED).symlink_to(path.resolve())
    else:
        export(path, place / SAVED, list(feeds), job["fetches"])


def measure(folder: Path, number: int, place: Path) -> None:
    job = json.loads((folder / JOBS).read_text())[number]
    feeds = inputs_of(folder, job)
    expected = list(np.load(place / ANSWERS).values())
    model = Model(libraries(), place / SAVED)
    began = time.perf_counter()
    answers = model.run(job["fetches"], feeds)
    row = {"first": time.perf_counter() - began}
    row["difference"] = differences(expected, [a.astype(bytes) if a.dtype == object else a for a in answers])
    times = [seconds for _ in range(ROUNDS) for seconds in turn(model, job["fetches"], feeds)]
    row["ms"] = statistics.median(times) * 1000
    print(json.dumps(row), flush=True)


def export(path: Path, saved: Path, feeds: list[str], fetches: list[str]) -> None:
    """A SavedModel whose tensors have the same names."""
    named = [*((FEED, name) for name in feeds), *((FETCH, name) for name in fetches)]
    command = [sys.executable, "-c", COMMAND, "export", str(path), "-o", str(saved)]
    done = subprocess.run([*command, *chain(*named)], capture_output=True, text=True, check=False)
    if done.returncode:  # the whole model has these tensors too, unless its signature was rewritten
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)


STEPS = {PREPARE: prepare, MEASURE: measure}

if __name__ == "__main__":
    first, *rest = sys.argv[1:]
    if first in STEPS:
        STEPS[first](Path(rest[0]), int(rest[1]), Path(rest[2]))
    else:
        run(Path(first), Path(rest[0]))
