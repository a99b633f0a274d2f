"""Record what real releases do with the models of tests/truth, through the C API.

    python tools/truth/record_capi.py 1.13.2 2.8.4
    python tools/truth/record_capi.py --package tensorflow-gpu 1.15.5 --only 'nchw_*' 'cudnn_*'
    python tools/truth/record_capi.py --platform aarch64 --suffix=-aarch64 2.16.2 --only 'compiled_*'

Each release answers every question of tests/truth/questions.json through two loaders
(`capi_loaders`). The outcomes go to the record `capi/PACKAGE-RELEASE` (`outcomes`). With
`--only`, other cases stay as they are. From 2.9 on, the inputs that a kernel accepts depend
on the processor: `--without-onednn` records the behavior of a processor for which oneDNN is
not used, as `capi_without_onednn/PACKAGE-RELEASE`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "atlas"))

from capi_tasks import tasks
from elf import Library
from outcomes import Outcomes, capi_outcomes, summary, update_outcomes
from records import release_order
from stubs import cuda_stubs
from tests.truth_models import ROOT, TRUTH, read_questions
from wheels import Wheel, unpacked

PROBE = Path(__file__).with_name("capi_probe.py")
SECONDS = 30
WITHOUT_ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "0"}


def main() -> None:
    args = arguments()
    questions = read_questions(args.questions)
    asked = {c: q for c, q in questions.items() if any(fnmatchcase(c, pattern) for pattern in args.only)}
    group = "capi_without_onednn" if args.without_onednn else args.group
    for release in args.releases:
        with unpacked(args.package, release, args.platform) as wheel:
            outcomes = record(wheel, release, asked, WITHOUT_ONEDNN if args.without_onednn else {})
        name = f"{group}/{args.package}-{release}{args.suffix}"
        header = {"package": args.package, "version": release, "wheel": wheel.name, "sha256": wheel.sha256}
        print(f"{name}: {summary(update_outcomes(name, header, outcomes, set(questions)))}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--questions", type=Path, default=TRUTH / "questions.json")
    parser.add_argument("--platform", default="x86_64", help="of the wheel: x86_64 or aarch64")
    parser.add_argument("--group", default="capi", help="group of records to write (default: capi)")
    parser.add_argument("--suffix", default="", help="text to append to the names of the records")
    parser.add_argument("--only", nargs="+", default=["*"], help="cases to record; * and ? match any text")
    parser.add_argument("--without-onednn", action="store_true", help="disable the kernels of oneDNN")
    return parser.parse_args()


def record(wheel: Wheel, release: str, questions: dict[str, Any], environment: dict[str, str]) -> Outcomes:
    """Return the outcomes of one release, by case and loader."""
    order = release_order(release)
    with tempfile.TemporaryDirectory() as scratch:
        todo = [(c, t) for c, q in questions.items() for t in tasks(q, ROOT, Path(scratch), order)]
        answers = probe(wheel, [task for _, task in todo], environment)
    by_case: Outcomes = {case: {} for case in questions}
    for (case, task), answer in zip(todo, answers, strict=True):
        by_case[case][task["loader"]] = answer
    return {case: capi_outcomes(answers, Path(questions[case]["path"])) for case, answers in by_case.items()}


def probe(wheel: Wheel, todo: list[dict], environment: dict[str, str]) -> list[dict]:
    """Run `capi_probe` in a process with the libraries of the release; return its answers."""
    stubs = wheel.root / "stubs"
    stubs.mkdir()
    cuda_stubs([Library(path) for path in wheel.root.rglob("*.so*") if path.is_file()], stubs)
    done = subprocess.run(
        [sys.executable, PROBE, wheel.package, str(SECONDS)],
        input="".join(json.dumps(task) + "\n" for task in todo),
        env={**os.environ, "LD_LIBRARY_PATH": str(stubs), **environment},
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        sys.exit(done.stderr[-4000:])
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


if __name__ == "__main__":
    main()
