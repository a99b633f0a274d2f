"""`make bench-real`: compare tfport with TensorFlow on models that other people published, batch 1.

    python benchmarks/real.py [--seconds S] [--contenders tfport,tensorflow] [WORD…]

WORD is a part of a model's name. Each contender runs in its own process, in turn, so that other load
affects all equally; `x` is the contender's time divided by tfport's. A model that a contender
cannot run has `—` there. Nothing in tfport depends on a model's name.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from real_inputs import RealModel, load, real_model_list
from tests.live.run_real import add_missing_attrs

from tfport.errors import Error
from tfport.graph.build import graph_to_def
from tfport.runtime.bench.bench import run_worker

WORKER = [sys.executable, str(Path(__file__).with_name("real_worker.py"))]
CONTENDERS = ("tfport", "tensorflow", "openvino")
ROUNDS = 3
WORST = 10


@dataclass(frozen=True)
class Result:
    """The best of several rounds of one contender on one model."""

    latency: float
    processor: float
    first: float
    peak: float


def job_of(real: RealModel, folder: Path) -> dict[str, Any]:
    """What a worker needs to run a model."""
    model = load(real)
    signature = real.signature(model)
    arrays = real.inputs(signature)
    plain = {k: a.astype(bytes) if a.dtype == object else a for k, a in arrays.items()}
    np.savez(folder / "inputs.npz", **{f"{i}": array for i, array in enumerate(plain.values())})
    job = {
        "model": str(real.path), "kind": real.kind, "tags": list(model.tags), "feeds": list(arrays),
        "fetches": [tensor for spec in signature.outputs.values() for tensor in spec.tensors],
        "inputs": str(folder / "inputs.npz"), "graph_def": str(folder / "graph.pb"),
    }  # fmt: skip
    if real.kind in ("graph_def", "tfjs"):
        record = add_missing_attrs(graph_to_def(model.graph))
        (folder / "graph.pb").write_bytes(record.SerializeToString())
    return job


def measured(real: RealModel, contenders: list[str], seconds: float) -> dict[str, Result]:
    """The results of the contenders that can run the model."""
    rounds: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
    with tempfile.TemporaryDirectory() as folder:
        job = {**job_of(real, Path(folder)), "seconds": seconds / ROUNDS}
        for _ in range(ROUNDS):
            for name in list(rounds):
                try:
                    rounds[name].append(run_worker(WORKER, {**job, "contender": name}, folder))
                except (Error, subprocess.SubprocessError) as error:
                    print(f"  {real.name}: {error}"[:200], file=sys.stderr)
                    del rounds[name]
    return {name: best(results) for name, results in rounds.items()}


def best(rounds: list[dict[str, Any]]) -> Result:
    return Result(
        min(statistics.median(result["latencies"]) for result in rounds),
        min(result["processor"] for result in rounds),
        min(result["first"] for result in rounds),
        min(result["peak"] for result in rounds),
    )


def row(name: str, results: dict[str, Result], contenders: list[str]) -> str:
    cells = []
    for contender in contenders:
        result = results.get(contender)
        cells.append(
            "—"
            if result is None
            else f"{result.latency * 1e3:.2f} / {result.processor * 1e3:.1f} ms, {result.first:.2f} s, "
            f"{result.peak / 1e6:.0f} MB"
        )
    ratio = speedup(results, "tensorflow")
    return f"| {name} | {' | '.join(cells)} | {'—' if ratio is None else f'{ratio:.2f}'} |"


def speedup(results: dict[str, Result], contender: str, of: str = "latency") -> float | None:
    if "tfport" not in results or contender not in results:
        return None
    return float(getattr(results[contender], of) / getattr(results["tfport"], of))


def summary(table: dict[str, dict[str, Result]], contender: str) -> None:
    """Print the geometric means, and the models where tfport is slowest beside this contender."""
    ratios = {name: r for name, results in table.items() if (r := speedup(results, contender)) is not None}
    if not ratios:
        return
    slower = sum(ratio < 1 for ratio in ratios.values())
    measures = Result.__annotations__
    means = {of: mean([speedup(table[n], contender, of) or 1 for n in ratios]) for of in measures}
    print(
        f"\n{contender}, {len(ratios)} models: tfport is {means['latency']:.2f}x faster (geometric mean; "
        f"slower on {slower}), processor time {means['processor']:.2f}x less, "
        f"first answer {means['first']:.1f}x sooner, memory {1 / means['peak']:.2f}x"
    )
    for name in sorted(ratios, key=ratios.__getitem__)[:WORST]:
        print(f"  {ratios[name]:.2f}x  {name}")


def mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of names of models (default: all)")
    parser.add_argument("--seconds", type=float, default=3.0, help="seconds per model and contender")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), help=f"of {', '.join(CONTENDERS)}")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    args = parser.parse_args()
    contenders = args.contenders.split(",")
    print(f"| model | {' | '.join(contenders)} | x TensorFlow |\n|---|{'---|' * len(contenders)}---|")
    table: dict[str, dict[str, Result]] = {}
    for real in real_model_list(args.words):
        try:
            table[real.name] = measured(real, contenders, args.seconds)
        except Error as error:
            print(f"  {real.name}: {error}"[:200], file=sys.stderr)
            continue
        print(row(real.name, table[real.name], contenders), flush=True)
    for contender in contenders[1:]:
        summary(table, contender)
    if args.json:
        args.json.write_text(json.dumps({n: {c: vars(r) for c, r in t.items()} for n, t in table.items()}))


if __name__ == "__main__":
    main()
