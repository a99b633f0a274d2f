"""`make bench-real`: compare tfport with TensorFlow on models that other people published, batch 1.

    python benchmarks/real.py [--short] [--rounds N] [--seconds S] [--contenders tfport,tensorflow] [WORD…]

WORD is a part of a model's name. Each contender runs in its own process, in turn, so that other load
affects all equally; `x` is the contender's time divided by tfport's. `auto` is tfport with the engine `auto`
after it chose: the races are in the second call, whose seconds are in the JSON. `litert` is not among the
default contenders, as TensorFlow takes long to convert to its format. A model that a contender
cannot run has `—` there, and the reason is on stderr. The last column says where tfport's time goes, as in
`tfport bench --profile`. Models that `real_generated.py` makes have names that begin with `generated/` and
geometric means of their own. Nothing in tfport depends on a model's name.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from real_forms import FORMS, write_forms
from real_generated import GENERATED
from real_inputs import RealModel, load, real_model_list

from tfport.errors import Error
from tfport.runtime.bench.bench import run_worker
from tfport.words import count

WORKER = [sys.executable, str(Path(__file__).with_name("real_worker.py"))]
CONTENDERS = ("tfport", "auto", "tensorflow", "openvino", "tf2onnx")
MEASURES = ("latency", "processor", "first", "peak")
ROUNDS, SECONDS = 3, 3.0
SHORT = {"rounds": 1, "seconds": 0.5, "contenders": "tfport,tensorflow"}
WORST, REASONS = 10, 3


@dataclass(frozen=True)
class Result:
    """The best of several rounds of one contender on one model."""

    latency: float
    processor: float
    first: float
    second: float
    peak: float
    profile: dict[str, Any] | None = None
    """Where tfport's time goes."""


def job_of(real: RealModel, folder: Path, contenders: list[str]) -> dict[str, Any]:
    """What the workers need to run a model."""
    model = load(real)
    signature = real.signature(model)
    arrays = real.inputs(model, signature)
    plain = {k: a.astype(bytes) if a.dtype == object else a for k, a in arrays.items()}
    np.savez(folder / "inputs.npz", **{f"{i}": array for i, array in enumerate(plain.values())})
    job = {
        "model": str(real.path), "kind": real.kind, "tags": list(model.tags), "feeds": list(arrays),
        "fetches": [tensor for spec in signature.outputs.values() for tensor in spec.tensors],
        "input_names": [name for name, spec in signature.inputs.items() for _ in spec.tensors],
        "inputs": str(folder / "inputs.npz"),
        **dict.fromkeys(FORMS),
    }  # fmt: skip
    write_forms(real, model, signature, job, contenders)
    return job


def measured(real: RealModel, contenders: list[str], rounds: int, seconds: float) -> dict[str, Result]:
    """The results of the contenders that can run the model."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in contenders}
    with tempfile.TemporaryDirectory() as folder:
        job = {**job_of(real, Path(folder), contenders), "seconds": seconds / rounds}
        for i in range(rounds):
            for name in list(results):
                try:
                    turn = {**job, "contender": name, "profile": i == rounds - 1}
                    results[name].append(run_worker(WORKER, turn, folder))
                except (Error, subprocess.SubprocessError) as error:
                    print(f"  {real.name}: {error}"[:200], file=sys.stderr)
                    del results[name]
    return {name: best(rounds_of) for name, rounds_of in results.items()}


def best(rounds: list[dict[str, Any]]) -> Result:
    return Result(
        min(statistics.median(result["latencies"]) for result in rounds),
        min(result["processor"] for result in rounds),
        min(result["first"] for result in rounds),
        min(result["second"] for result in rounds),
        min(result["peak"] for result in rounds),
        rounds[-1].get("profile"),
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
    shown = "—" if ratio is None else f"{ratio:.2f}"
    return f"| {name} | {' | '.join(cells)} | {shown} | {where(results)} |"


def where(results: dict[str, Result]) -> str:
    """Where tfport's time goes, in one line."""
    profile = results["tfport"].profile if "tfport" in results else None
    if profile is None:
        return "—"
    parts = profile["parts_ms"]
    whole = sum(parts.values()) or 1.0
    shares = ", ".join(f"{name} {time / whole:.0%}" for name, time in parts.items())
    return f"{shares}; {profile['threads_busy']:.1f} of {profile['threads']} threads"


def slowest(results: dict[str, Result]) -> str:
    """The slowest host steps, and why nodes run on the host although their op has a lowering."""
    profile = results["tfport"].profile if "tfport" in results else None
    if profile is None:
        return ""
    steps = [f"{step['op']} {step['ms']:.2f} ms" for step in profile["host"][:REASONS]]
    nodes = Counter(f"{node['op']}: {node['reason']}" for node in profile["on_host_despite_lowering"])
    reasons = [f"{n}x {reason}" for reason, n in nodes.most_common(REASONS)]
    return "".join(f"\n          {line}" for line in ["; ".join(steps), *reasons] if line)


def speedup(results: dict[str, Result], contender: str, of: str = "latency") -> float | None:
    if "tfport" not in results or contender not in results:
        return None
    return float(getattr(results[contender], of) / getattr(results["tfport"], of))


def summary(table: dict[str, dict[str, Result]], contender: str, what: str) -> None:
    """Print the geometric means, and the models where tfport is slowest beside this contender."""
    ratios = {name: r for name, results in table.items() if (r := speedup(results, contender)) is not None}
    if not ratios:
        return
    slower = sum(ratio < 1 for ratio in ratios.values())
    means = {of: mean([speedup(table[n], contender, of) or 1 for n in ratios]) for of in MEASURES}
    print(
        f"\n{contender}, {count(len(ratios), f'{what} model')}: tfport is {means['latency']:.2f}x faster "
        f"(geometric mean; slower on {slower}), processor time {means['processor']:.2f}x less, "
        f"first answer {means['first']:.1f}x sooner, memory {1 / means['peak']:.2f}x"
    )
    for name in sorted(ratios, key=ratios.__getitem__)[:WORST]:
        print(f"  {ratios[name]:.2f}x  {name}\n          {where(table[name])}{slowest(table[name])}")


def mean(values: list[float]) -> float:
    return math.exp(statistics.fmean(map(math.log, values)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", metavar="WORD", help="parts of names of models (default: all)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="seconds per model and contender")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="turns of each contender (default: 3)")
    parser.add_argument("--contenders", default=",".join(CONTENDERS), help=f"of {', '.join(CONTENDERS)}")
    parser.add_argument("--short", action="store_true", help="one short turn, only beside TensorFlow")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    args = parser.parse_args()
    if args.short:
        vars(args).update(SHORT)
    contenders = args.contenders.split(",")
    head = ["model", *contenders, "x TensorFlow", "where tfport's time goes"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    table: dict[str, dict[str, Result]] = {}
    for real in real_model_list(args.words):
        try:
            table[real.name] = measured(real, contenders, args.rounds, args.seconds)
        except Error as error:
            print(f"  {real.name}: {error}"[:200], file=sys.stderr)
            continue
        print(row(real.name, table[real.name], contenders), flush=True)
    generated = {name: results for name, results in table.items() if name.startswith(GENERATED)}
    published = {name: results for name, results in table.items() if name not in generated}
    for contender in contenders[1:]:
        summary(published, contender, "real")
        summary(generated, contender, "generated")
    if args.json:
        args.json.write_text(json.dumps({n: {c: vars(r) for c, r in t.items()} for n, t in table.items()}))


if __name__ == "__main__":
    main()
