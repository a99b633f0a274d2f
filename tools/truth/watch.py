"""What do real releases do with the models of tests/truth? Watched, not predicted.

    python tools/truth/watch.py 1.13.2 2.8.4
    python tools/truth/watch.py --package tensorflow-gpu 1.15.5 --only 'nchw_*' 'cudnn_*'

Each release is asked every question of tests/truth/questions.json through two loaders
(`loaders`); what it says goes to tests/truth/said/PACKAGE-RELEASE.json (`said`). With
`--only`, other cases stay as they are. From 2.9 on, what a kernel takes depends on the
processor: `--without-onednn` asks for the answers of one that oneDNN is not used on, and
writes them to tests/truth/said_without_onednn.
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

from elf import Library
from plan import tasks
from records import release_order
from said import Said, summary, told, write
from stubs import cuda_stubs
from wheels import Wheel, unpacked

ROOT = Path(__file__).parents[2]
TRUTH = ROOT / "tests/truth"
ASK = Path(__file__).with_name("ask.py")
SECONDS = 30
WITHOUT_ONEDNN = {"TF_ENABLE_ONEDNN_OPTS": "0"}


def main() -> None:
    args = arguments()
    questions = json.loads(args.questions.read_text())
    asked = {c: q for c, q in questions.items() if any(fnmatchcase(c, pattern) for pattern in args.only)}
    for release in args.releases:
        with unpacked(args.package, release) as wheel:
            said = watch(wheel, release, asked, WITHOUT_ONEDNN if args.without_onednn else {})
        folder = TRUTH / "said_without_onednn" if args.without_onednn else args.said
        out = folder / f"{args.package}-{release}{args.suffix}.json"
        before = json.loads(out.read_text())["said"] if out.exists() else {}
        said = {case: v for case, v in (before | said).items() if case in questions}
        head = {"package": args.package, "version": release, "wheel": wheel.name, "sha256": wheel.sha256}
        write(out, head, said)
        print(f"{out.stem}: {summary(said)}", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Watch what releases of TensorFlow do with many models.")
    parser.add_argument("releases", nargs="+")
    parser.add_argument("--package", default="tensorflow")
    parser.add_argument("--questions", type=Path, default=TRUTH / "questions.json")
    parser.add_argument("--said", type=Path, default=TRUTH / "said", help="the folder of the outcomes")
    parser.add_argument("--suffix", default="", help="what their file names end with")
    parser.add_argument("--only", nargs="+", default=["*"], help="cases to ask, with * and ?")
    parser.add_argument("--without-onednn", action="store_true", help="switch oneDNN's kernels off")
    return parser.parse_args()


def watch(wheel: Wheel, release: str, questions: dict[str, Any], environment: dict[str, str]) -> Said:
    """What one release says to each question, by case and loader."""
    order = release_order(release)
    with tempfile.TemporaryDirectory() as scratch:
        todo = [(c, t) for c, q in questions.items() for t in tasks(q, ROOT, Path(scratch), order)]
        answers = ask(wheel, [task for _, task in todo], environment)
    said: Said = {case: {} for case in questions}
    for (case, task), answer in zip(todo, answers, strict=True):
        said[case][task["loader"]] = answer
    return {case: told(by_loader, ROOT / questions[case]["path"]) for case, by_loader in said.items()}


def ask(wheel: Wheel, todo: list[dict], environment: dict[str, str]) -> list[dict]:
    """What `ask` answers, in a process that has the libraries of the release."""
    stubs = wheel.root / "stubs"
    stubs.mkdir()
    cuda_stubs([Library(path) for path in wheel.root.rglob("*.so*") if path.is_file()], stubs)
    done = subprocess.run(
        [sys.executable, ASK, wheel.package, str(SECONDS)],
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
