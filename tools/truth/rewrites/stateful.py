"""Run every signature of rewritten stateful models ten times in real old releases: docs/evidence.

    python tools/truth/rewrites/stateful.py [MODEL…] [--targets 1.4.1 1.12.3 …]

The models are those of models_stateful.py. A session calls the signatures in turn, ten times each with other
inputs, so that an answer depends on all calls before it; each run is a new process. Expected is what today's
TensorFlow answers to the same calls of the original. Records of other pairs stay.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from cases import HERE, ROOT, live_package, make, makers
from jobs import Answer, Job
from judge import CANNOT, Outcome, judged
from references import tolerances
from release import Installation, add_python, unpacked_release
from rewrite import rewrite

import tfport
from tfport.graph.model import Model, TensorSpec

OUT = ROOT / "docs/evidence/stateful.json"
TARGETS = ("1.4.1", "1.12.3", "1.13.2", "1.15.5")
CALLS, RUNS, BATCH, SEED = 10, 3, 2, 5
WORDS = (b"film", b"good", b"nobody knows me", b"the")
HEAD = """# Stateful models in real old releases

Written by `tools/truth/rewrites/stateful.py`. Each model has variables that its signatures share; TensorFlow
{version} saved it, and `tfport fix` rewrote it. The real binary of the target called every signature {calls}
times in turn, in one session, in each of {runs} processes. The answers are compared with those of TensorFlow
{version} to the same calls of the original: right for
**{same} of {all}** models and releases, with {answers} answers.

| model | signatures | {targets} |
|---|---|{rule}
"""


def main() -> None:
    args = arguments()
    module = HERE / "models_stateful.py"
    known = [name for name, file in makers().items() if file == module]
    paths = make(args.models or known)
    jobs = {name: calls(path, tfport.load(str(path))) for name, path in paths.items()}
    live = Installation(live_package()).run([job for each in jobs.values() for job in each], reference=True)
    answers = iter(live.answers)
    expected = {name: [next(answers) for _ in each] for name, each in jobs.items()}
    record = json.loads(OUT.read_text()) if OUT.exists() else {"models": {}}
    record |= {"tensorflow": live.version, "calls": CALLS, "runs": RUNS}
    for target in args.targets:
        with unpacked_release(target, python=args.python) as binary, tempfile.TemporaryDirectory() as folder:
            for name, path in paths.items():
                outcome = run(path, jobs[name], expected[name], target, binary, Path(folder, name))
                entry = record["models"].setdefault(name, {"targets": {}})
                entry["signatures"] = len({job.way for job in jobs[name]})
                entry["targets"][target] = {"outcome": outcome.outcome, "says": outcome.says}
                print(f"{name:20} {target:8} {outcome.outcome} {outcome.says[:200]}", flush=True)
    write(record)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run rewritten stateful models in real old releases.")
    parser.add_argument("models", nargs="*", help="names of models (default: all)")
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="releases of TensorFlow")
    add_python(parser)
    return parser.parse_args()


def calls(path: Path, model: Model) -> list[Job]:
    """Each signature in turn, with new inputs in each round."""
    names = [name for name, way in model.signatures.items() if way.outputs]
    rng = np.random.default_rng(SEED)
    return [
        Job(path, {n: drawn(rng, spec) for n, spec in model.signatures[name].inputs.items()}, name)
        for _ in range(CALLS)
        for name in names
    ]


def drawn(rng: np.random.Generator, spec: TensorSpec) -> np.ndarray:
    shape = [BATCH if size is None else size for size in spec.shape.dims or ()]
    if spec.dtype.name == "string":
        return rng.choice(np.array(WORDS, object), shape)
    numbers = rng.uniform(0, 4, shape)
    return np.asarray(numbers, spec.dtype.numpy)


def run(
    path: Path, jobs: list[Job], expected: list[Answer], target: str, binary: Installation, out: Path
) -> Outcome:
    """The worst outcome of any call of the rewritten model."""
    if refused := next((answer for answer in expected if isinstance(answer, str)), None):
        raise SystemExit(f"{path.name}: TensorFlow refuses the original: {refused}")
    try:
        new = rewrite(path, f"tensorflow=={target}", (), out, ()).path
    except tfport.Error as error:
        return Outcome(CANNOT, str(error))
    model = tfport.load(str(path))
    allowed = {name: tolerances(model, way) for name, way in model.signatures.items()}
    runs = binary.run([Job(new, job.inputs, job.way) for job in jobs], times=RUNS).repeated
    for index, (job, wanted) in enumerate(zip(jobs, expected, strict=True)):
        outcome = judged([[answers[index]] for answers in runs], [wanted], allowed[str(job.way)])
        if outcome.outcome != "same":
            return Outcome(outcome.outcome, f"call {index}, {job.way}: {outcome.says}")
    return Outcome("same")


def write(record: dict) -> None:
    OUT.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    models = record["models"]
    targets = sorted(
        {t for m in models.values() for t in m["targets"]}, key=lambda t: [*map(int, t.split("."))]
    )
    pairs = [(m, t) for m in models.values() for t in m["targets"].values()]
    head = HEAD.format(
        version=record["tensorflow"], calls=record["calls"], runs=record["runs"], targets=" | ".join(targets),
        same=sum(t["outcome"] == "same" for _, t in pairs), all=len(pairs), rule="---|" * len(targets),
        answers=f"{sum(m['signatures'] for m, _ in pairs) * record['calls'] * record['runs']:,}",
    )  # fmt: skip
    rows = [
        " | ".join([f"| {name}", str(m["signatures"]), *(outcome_in(m, t) for t in targets)]) + " |"
        for name, m in sorted(models.items())
    ]
    OUT.with_suffix(".md").write_text(head + "\n".join(rows) + "\n")


def outcome_in(model: dict, target: str) -> str:
    return model["targets"].get(target, {"outcome": ""})["outcome"]


if __name__ == "__main__":
    sys.exit(main())
