"""What do Python's own loaders do with the models of tests/truth? Watched, not predicted.

    python tools/truth/python_watch.py 1.15.5 2.8.4                    every question, on these releases
    python tools/truth/python_watch.py 2.8.4 --only 'keras/*' --keep   some of them; the environment stays

`python` is tf.saved_model.load, in a session on 1.x; `keras` is tf.keras.models.load_model, which takes
a SavedModel from 1.14 on. What was said goes to tests/truth/said_python/PACKAGE-RELEASE.json: cases
asked again are replaced, others stay.
"""

import argparse
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from environments import environment, installed, release_order
from said import LONGEST, nameless, write

ROOT = Path(__file__).parents[2]
TRUTH = ROOT / "tests/truth"
PROBE = Path(__file__).with_name("python_probe.py")
SECONDS = 120
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "1", "CUDA_VISIBLE_DEVICES": "-1", "OPENBLAS_NUM_THREADS": "1"}
QUESTIONS = [TRUTH / "questions.json", TRUTH / "keras/questions.json"]

VARIES = [
    (re.compile(r"\n+(Original stack trace for|Caused by op|Traceback \(most recent call)[\s\S]*"), ""),
    (re.compile(r"^ *File \".*\n( {6,}.*\n|\n)?", re.MULTILINE), ""),
    (re.compile(r" ?\(?defined at [^)\]]*\.py:\d+\)?"), ""),
    (re.compile(r"\S*/site-packages/"), ""),
    (re.compile(r"(?<=__inference_pruned_)\d+|(?<=_load_)\d+"), "…"),
]
"""Where in its code or in ours, and the how-manieth."""


def main() -> None:
    args = arguments()
    questions = {case: q for path in args.questions or QUESTIONS for case, q in read(path).items()}
    asked = {case: q for case, q in questions.items() if any(fnmatch(case, only) for only in args.only)}
    for release in args.releases:
        out = args.said / f"{args.package}-{release}{args.suffix}.json"
        said = json.loads(out.read_text())["said"] if out.exists() else {}
        # one loader after the other: Keras, once imported, changes what tf.saved_model.load revives
        todo = [(c, loader) for loader in args.loaders for c in asked if is_for(loader, c, release)]
        with environment(args.package, release, args.keep) as python:
            head = {"package": args.package, "version": release, **versions(python)}
            for (case, loader), answer in zip(todo, watch(python, todo, asked), strict=True):
                said.setdefault(case, {})[loader] = told(answer, Path(asked[case]["path"]))
        write(out, head, {case: said[case] for case in said if case in questions})
        print(f"{args.package} {release}: {summary(said)}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--questions", type=Path, nargs="+", help="files; those of tests/truth unless given")
    parser.add_argument("--only", nargs="+", default=["*"], help="cases to ask, with * and ?")
    parser.add_argument("--loaders", nargs="+", default=["python", "keras"])
    parser.add_argument("--said", type=Path, default=TRUTH / "said_python", help="the folder of the outcomes")
    parser.add_argument("--suffix", default="", help="what their file names end with")
    parser.add_argument("--keep", action="store_true", help="leave the environment of the release")
    return parser.parse_args()


def read(path: Path) -> dict[str, dict]:
    """The questions of a file, the path of each made whole."""
    asked = json.loads(path.read_text())
    return {case: {**q, "path": str((ROOT / q["path"]).resolve())} for case, q in sorted(asked.items())}


def is_for(loader: str, case: str, release: str) -> bool:
    """Keras is asked of models that a release wrote, which stand in folders; bare graphs are not its own."""
    return loader != "keras" or ("/" in case and release_order(release) >= (1, 14))


def versions(python: Path) -> dict[str, str]:
    said = subprocess.check_output([python, "-c", "import sys; print(sys.version.split()[0])"], text=True)
    keras = installed(python, "keras")
    return {"python": said.strip()} | ({"keras": keras} if keras else {})


def watch(python: Path, todo: list[tuple[str, str]], asked: dict[str, dict]) -> Iterator[dict[str, Any]]:
    """What the probe says to each, as it says it."""
    questions = {"limit": SECONDS, "asked": [[loader, asked[case]] for case, loader in todo]}
    command = [python, "-W", "ignore", PROBE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, **QUIET}, text=True, **pipes) as probe:
        probe.stdin.write(json.dumps(questions))
        probe.stdin.close()
        yield from map(json.loads, probe.stdout)
    if probe.returncode:
        sys.exit(f"{PROBE.name} ended with {probe.returncode}")


def told(answer: dict[str, Any], model: Path) -> dict[str, Any]:
    """The answer without what only this machine, or this run, says."""
    says = nameless(answer["says"], model)
    for pattern, name in VARIES:
        says = pattern.sub(name, says)
    return {**answer, "says": says[:LONGEST]}


def summary(said: dict[str, dict]) -> str:
    stages = [(loader, v["stage"] or "runs") for by in said.values() for loader, v in by.items()]
    counts = (f"{loader} {stage} {stages.count((loader, stage))}" for loader, stage in sorted(set(stages)))
    return f"{len(said)} cases: {', '.join(counts)}"


if __name__ == "__main__":
    main()
