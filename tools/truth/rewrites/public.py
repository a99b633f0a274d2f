"""Run rewritten public models in real old releases by two loaders, for docs/evidence/public.md.

    python tools/truth/rewrites/public.py [MODEL…] [--targets 1.12.3 …] [--count 10] [--seed 50]

The models are drawn by seed from those of tools/real_models.toml that are here: SavedModels, MetaGraphs and
GraphDefs, one of a package, that TensorFlow of today answers. Each is rewritten for each release and called
ten times with other generated inputs by both loaders of `two_loaders`. Records of other pairs stay.
"""

import argparse
import json
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.append(str(Path(__file__).parents[1]))

from cases import LIVE, ROOT
from environments import environment
from judge import CANNOT, SAME, Outcome
from two_loaders import C_API, CALLS, PYTHON, RUNS, Release, expected_answers, generated_calls, outcomes

import tfport
from real_models import CACHE, packages
from tfport.errors import Error
from tfport.graph.save import as_saved_model

OUT = ROOT / "docs/evidence/public.json"
TARGETS = ("1.12.3", "1.15.5", "2.3.4", "2.8.4")
KINDS = ("saved_model", "meta_graph", "graph_def")
COUNT, SEED, TODAY = 10, 50, "2.21.0"
HEAD = """# Public models in real old releases

Written by `tools/truth/rewrites/public.py`. {count} of the models drawn at random (seed {seed}) from those
of `tools/real_models.toml`, each rewritten by `tfport fix`; the binary answered {calls} inputs of each
signature through the C API ({runs} processes) and in Python. The answers are compared with those of
TensorFlow {version} to the original: right for **{same} of {all}** pairs of a rewritten model and a loader;
`fix` refused {refused} of {pairs} (each a model and a release), and says why.

| model | {targets} |
|---|{rule}
"""


def main() -> None:
    args = arguments()
    record = json.loads(OUT.read_text()) if OUT.exists() else {"models": {}}
    record |= {"seed": args.seed, "tensorflow": TODAY, "calls": CALLS, "runs": RUNS}
    for path in [Path(model) for model in args.models] or drawn(args.count, args.seed):
        for target, result in tried(path, args.targets):
            entry = record["models"].setdefault(name_of(path), {})
            entry[target] = {loader: [o.outcome, o.says] for loader, o in result.items()}
            print(name_of(path), target, entry[target], flush=True)
            write(record)


def tried(path: Path, targets: Sequence[str]) -> Iterator[tuple[str, dict[str, Outcome]]]:
    """The outcomes of a model in each release; none if TensorFlow of today does not answer the original."""
    try:
        model = tfport.load(str(path))
        if not any(way.outputs for way in model.signatures.values()):
            model = as_saved_model(model)
        calls = generated_calls(model)
        expected = expected_answers(path, model, calls, Release(TODAY, LIVE / "bin/python"))
    except Error as error:
        print(f"{name_of(path)}: {error}", flush=True)
        return
    if not calls or all(isinstance(answer, str) for answer in expected):
        print(f"{name_of(path)}: TensorFlow {TODAY} answers nothing: {expected[:1]}", flush=True)
        return
    for target in targets:
        with environment("tensorflow", target, keep=True) as python, TemporaryDirectory() as folder:
            release = Release(target, python)
            yield target, outcomes(path, model, calls, expected, release, Path(folder, "model"))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run rewritten public models in real old releases.")
    parser.add_argument("models", nargs="*", help="paths of models (default: drawn by seed)")
    parser.add_argument("--targets", nargs="+", default=TARGETS, help="releases of TensorFlow")
    parser.add_argument("--count", type=int, default=COUNT, help="models to draw")
    parser.add_argument("--seed", type=int, default=SEED)
    return parser.parse_args()


def drawn(count: int, seed: int) -> list[Path]:
    """Models at random, one of a package."""
    found = [
        [package.folder / path for kind, path in package.models if kind in KINDS]
        for package in packages()
        if package.is_here()
    ]
    rng = random.Random(seed)
    rng.shuffle(found)
    return [rng.choice(models) for models in found if models][:count]


def name_of(path: Path) -> str:
    return str(path.relative_to(CACHE)) if path.is_relative_to(CACHE) else path.name


def write(record: dict) -> None:
    OUT.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n")
    models = record["models"]
    releases = {target for entry in models.values() for target in entry}
    targets = sorted(releases, key=lambda target: [*map(int, target.split("."))])
    pairs = [by_loader for entry in models.values() for by_loader in entry.values()]
    written = [by_loader for by_loader in pairs if by_loader[C_API][0] != CANNOT]
    answers = [outcome for by_loader in written for outcome, _ in by_loader.values()]
    head = HEAD.format(
        count=len(models), seed=record["seed"], calls=record["calls"], runs=record["runs"],
        version=record["tensorflow"], same=answers.count(SAME), all=len(answers),
        refused=len(pairs) - len(written), pairs=len(pairs), targets=" | ".join(targets),
        rule="---|" * len(targets),
    )  # fmt: skip
    rows = [
        f"| {name} | " + " | ".join(cell(entry.get(target)) for target in targets) + " |"
        for name, entry in sorted(models.items())
    ]
    OUT.with_suffix(".md").write_text(head + "\n".join(rows) + "\n")


def cell(by_loader: dict | None) -> str:
    if by_loader is None:
        return ""
    kinds = {outcome for outcome, _ in by_loader.values()}
    return kinds.pop() if len(kinds) == 1 else f"{by_loader[C_API][0]} / {by_loader[PYTHON][0]}"


if __name__ == "__main__":
    sys.exit(main())
