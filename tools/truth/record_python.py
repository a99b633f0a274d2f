"""Record what the Python loaders of real releases do with the models of tests/truth.

    python tools/truth/record_python.py 1.15.5 2.8.4                    every question, on these releases
    python tools/truth/record_python.py 2.8.4 --only 'keras/*' --keep   some of them; keep the environment

`python` is tf.saved_model.load, in a session on 1.x; `keras` is tf.keras.models.load_model, which
reads a SavedModel from 1.14 on. The outcomes go to the record `python/PACKAGE-RELEASE`: cases
recorded again are replaced, others stay.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from environments import environment, installed, release_order
from outcomes import LONGEST, Outcomes, normalize, summary, update_outcomes
from tests.truth_models import TRUTH, read_questions

PROBE = Path(__file__).with_name("python_probe.py")
SECONDS = 120
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "-1", "OPENBLAS_NUM_THREADS": "1"}
QUESTIONS = [TRUTH / "questions.json", TRUTH / "keras/questions.json"]

VARYING = [
    (re.compile(r"\n+(Original stack trace for|Caused by op|Traceback \(most recent call)[\s\S]*"), ""),
    (re.compile(r"^ *File \".*\n( {6,}.*\n|\n)?", re.MULTILINE), ""),
    (re.compile(r" ?\(?defined at [^)\]]*\.py:\d+\)?"), ""),
    (re.compile(r"\S*/site-packages/"), ""),
    (re.compile(r"(?<=__inference_pruned_)\d+|(?<=_load_)\d+"), "…"),
]
"""Positions in source code, and counters."""


def main() -> None:
    args = arguments()
    questions = {case: q for path in args.questions or QUESTIONS for case, q in read_questions(path).items()}
    asked = {case: q for case, q in questions.items() if any(fnmatch(case, only) for only in args.only)}
    for release in args.releases:
        # one loader after the other: Keras, once imported, changes what tf.saved_model.load returns
        todo = [(c, loader) for loader in args.loaders for c in asked if is_for(loader, c, release)]
        outcomes: Outcomes = {}
        given = nullcontext(args.python) if args.python else None
        with given or environment(args.package, release, args.keep) as python:
            header = {"package": args.package, "version": release, **versions(python)}
            for (case, loader), answer in zip(todo, probe(python, todo, asked), strict=True):
                outcomes.setdefault(case, {})[loader] = python_outcome(answer, Path(asked[case]["path"]))
        name = f"{args.group}/{args.package}-{release}{args.suffix}"
        print(f"{name}: {summary(update_outcomes(name, header, outcomes, set(questions)))}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--questions", type=Path, nargs="+", help="files (default: those of tests/truth)")
    parser.add_argument("--only", nargs="+", default=["*"], help="cases to record; * and ? match any text")
    parser.add_argument("--loaders", nargs="+", default=["python", "keras"])
    parser.add_argument("--group", default="python", help="group of records to write (default: python)")
    parser.add_argument("--suffix", default="", help="text to append to the names of the records")
    parser.add_argument("--python", type=Path, help="a Python with the release (default: a new one)")
    parser.add_argument("--keep", action="store_true", help="keep the environment of the release")
    return parser.parse_args()


def is_for(loader: str, case: str, release: str) -> bool:
    """Whether to ask this loader: Keras gets only models that a release wrote, which are in folders."""
    return loader != "keras" or ("/" in case and release_order(release) >= (1, 14))


def versions(python: Path) -> dict[str, str]:
    version = subprocess.check_output([python, "-c", "import sys; print(sys.version.split()[0])"], text=True)
    keras = installed(python, "keras")
    return {"python": version.strip()} | ({"keras": keras} if keras else {})


def probe(python: Path, todo: list[tuple[str, str]], asked: dict[str, dict]) -> Iterator[dict[str, Any]]:
    """Run `python_probe`; yield its answers as they arrive."""
    questions = {"limit": SECONDS, "asked": [[loader, asked[case]] for case, loader in todo]}
    command = [python, "-W", "ignore", PROBE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, **QUIET}, text=True, **pipes) as process:
        process.stdin.write(json.dumps(questions))
        process.stdin.close()
        yield from map(json.loads, process.stdout)
    if process.returncode:
        sys.exit(f"{PROBE.name} failed with exit code {process.returncode}")


def python_outcome(answer: dict[str, Any], model: Path) -> dict[str, Any]:
    """Return the answer without what is specific to this machine or this run."""
    message = normalize(answer["message"], model)
    for pattern, replacement in VARYING:
        message = pattern.sub(replacement, message)
    return {**answer, "message": message[:LONGEST]}


if __name__ == "__main__":
    main()
