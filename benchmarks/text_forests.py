"""Compare tfport with TensorFlow on models of TensorFlow Text and of TensorFlow Decision Forests.

    python benchmarks/text_forests.py PYTHON MODEL… [--rounds N] [--batches 1,100,1000]

PYTHON has TensorFlow with tensorflow-text or tensorflow_decision_forests. Each MODEL is a SavedModel with one
signature. A model with one input of strings gets texts of 20 words; any other gets rows: numbers, some of
them missing, and strings that the model has. Both sides have a process and one thread each, and take turns.
Prints a table of rows per CPU second (user and system), the median of the rounds.
"""

from __future__ import annotations

import argparse
import os
import pickle
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np

WORDS = [
    "the",
    "of",
    "a",
    "brown",
    "fox",
    "Größe",
    "don't",
    "3.14",
    "I'm",
    "translation",
    "é",
    "日本",
    "really?",
]
LEAST_SECONDS = 0.2
"""Of CPU time, for one measurement."""

Feeds = dict[str, Any]


def tensorflow_side(model: str) -> Callable[[Feeds], Any]:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    with suppress(ImportError):
        import tensorflow_text  # noqa: F401
    for library in glob(
        f"{sys.prefix}/lib/python3*/site-packages/tensorflow_decision_forests/**/inference.so", recursive=True
    ):
        tf.load_op_library(library)
    loaded = tf.saved_model.load(model)
    (function,) = loaded.signatures.values()
    function._kept = loaded
    return lambda feeds: {
        k: v.numpy() for k, v in function(**{n: tf.constant(v) for n, v in feeds.items()}).items()
    }


def tfport_side(model: str) -> Callable[[Feeds], Any]:
    import tfport

    session = tfport.Session(model, threads=1)
    (name,) = session.model.signatures
    function = session.signature(name)
    return lambda feeds: function(**feeds)


def work(side: str, model: str, file: str) -> None:
    """Answer each line, the number of a batch, with its rows per CPU second."""
    call = {"tensorflow": tensorflow_side, "tfport": tfport_side}[side](model)
    batches = pickle.loads(Path(file).read_bytes())
    for feeds in batches:
        call(feeds)
    print("ready", flush=True)
    for line in sys.stdin:
        feeds = batches[int(line)]
        rows, calls, start = len(next(iter(feeds.values()))), 0, time.process_time()
        while (spent := time.process_time() - start) < LEAST_SECONDS:
            call(feeds)
            calls += 1
        print(rows * calls / spent, flush=True)


def inputs(path: str, sizes: list[int]) -> list[Feeds]:
    import tfport

    model, rng = tfport.load(path), np.random.default_rng(0)
    (signature,) = model.signatures.values()
    constants = (
        n.attrs["value"] for n in model.graph if n.op == "Const" and n.attrs["value"].dtype.name == "string"
    )
    known = sorted({text for tensor in constants for text in tensor.numpy().reshape(-1)}) or [b"unknown"]
    only_texts = [spec.dtype.name for spec in signature.inputs.values()] == ["string"]

    def column(dtype: Any, rows: int) -> Any:
        if only_texts:
            texts = [" ".join(rng.choice(WORDS, 20)).encode() for _ in range(rows)]
            return np.array(texts, object)
        if dtype.name == "string":
            return np.array([known[i] for i in rng.integers(0, len(known), rows)], object)
        if dtype.is_integer:
            return rng.integers(0, 100, rows).astype(dtype.numpy)
        return np.where(rng.random(rows) < 0.1, np.nan, 100 * rng.standard_normal(rows)).astype(dtype.numpy)

    return [{name: column(spec.dtype, n) for name, spec in signature.inputs.items()} for n in sizes]


def measured(python: str, model: str, sizes: list[int], rounds: int) -> list[tuple[float, float]]:
    """For each size the rows per CPU second of TensorFlow and of tfport."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(pickle.dumps(inputs(model, sizes), protocol=4))
        file.flush()
        settings = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
        sides = []
        for interpreter, side in ((python, "tensorflow"), (sys.executable, "tfport")):
            command = [interpreter, __file__, "--worker", side, model, file.name]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            worker = subprocess.Popen(command, text=True, env=settings, **pipes)
            sides.append(worker)
            while (line := worker.stdout.readline()) != "ready\n":
                if not line:
                    raise SystemExit(f"{model}: {side} cannot run it")
        table = []
        for number in range(len(sizes)):
            rates: tuple[list[float], list[float]] = ([], [])
            for _ in range(rounds):
                for worker, found in zip(sides, rates, strict=True):
                    worker.stdin.write(f"{number}\n")
                    worker.stdin.flush()
                    found.append(float(worker.stdout.readline()))
            table.append((statistics.median(rates[0]), statistics.median(rates[1])))
        for worker in sides:
            worker.stdin.close()
            worker.wait()
    return table


def main() -> None:
    if sys.argv[1:2] == ["--worker"]:
        work(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("python", metavar="PYTHON")
    parser.add_argument("models", metavar="MODEL", nargs="+")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", default="1,100,1000")
    args = parser.parse_args()
    sizes = [int(size) for size in args.batches.split(",")]
    print("| | batch | TensorFlow | tfport | tfport is faster |", "|---|---|---|---|---|", sep="\n")
    for model in args.models:
        for size, (theirs, ours) in zip(sizes, measured(args.python, model, sizes, args.rounds), strict=True):
            print(
                f"| {Path(model).name} | {size:,} | {theirs:,.0f} | {ours:,.0f} | {ours / theirs:.2f}x |",
                flush=True,
            )


if __name__ == "__main__":
    main()
