"""Run rewritten models in real old releases, and compare them with the originals in today's release.

    python tools/truth/rewrites/run.py [CASE…] [--targets 1.4.1 …] [--runs 10]
    python tools/truth/rewrites/run.py --baseline [CASE…]     run the original models; write no records

Each case of cases.toml (patterns with `*` and `?` are allowed) is rewritten for each of its targets and
run in the real binary of the target: several times, each in a new process with a session of its own and
the default options. A run answers all batches of inputs. The outcome is written to docs/truth/fix.json.xz
and fix.md after each few cases; records of other cases stay. Wheels and rewritten models are kept in a
temporary folder, one wheel at a time. The binaries are for x86-64: on another machine `--python` names an
emulated Python (see `release`), and the records say that an emulator ran them.
"""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from fnmatch import fnmatchcase
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import rewrite_records as records
from cases import ROOT, Where, read_cases, where
from compare import measures, spread
from jobs import way_of
from judge import CANNOT, SAME, UNKNOWN, Outcome, judged
from references import PreparedCase, references
from release import AT_ONCE, Installation, Ran, add_python, is_emulated, unpacked_release
from rewrite import Inputs, Rewrite, Rewritten, leave, rewrite

import tfport
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Signature

OUT = ROOT / "docs/truth/fix.json.xz"
RUNS = 10
SECONDS = 300
TOGETHER = 12
"""Cases that are rewritten, run and recorded together."""


def main() -> int:
    args = arguments()
    cases = read_cases()
    known = {c.name: [where(target).target for target in c.targets] for c in cases}
    named = [c for c in cases if any(fnmatchcase(c.name, pattern) for pattern in args.cases)]
    targets = [
        t for t in dict.fromkeys(where(t) for c in named for t in c.targets) if wanted(t, args.targets)
    ]
    chosen = [c for c in named if any(target.target in known[c.name] for target in targets)]
    asked = references(chosen)
    good = True
    for target in targets:
        here = [a for a in asked if target.target in known[a.case.name]]
        change = leave if args.baseline else rewrite
        for entries in run_on(here, target, change, args):
            if not args.baseline:
                records.write(OUT, {case: {target.target: e} for case, e in entries.items()}, known)
            for case, entry in entries.items():
                report(case, target, entry)
                good &= entry["outcome"] in (SAME, CANNOT)
    return 0 if good else 1


def wanted(target: Where, only: list[str] | None) -> bool:
    return only is None or not {target.target, target.release}.isdisjoint(only)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run rewritten models in real old releases.")
    parser.add_argument("cases", nargs="*", default=["*"], help="names of cases, with * and ? (default: all)")
    parser.add_argument("--targets", nargs="+", help="only these releases or targets")
    parser.add_argument("--runs", type=int, default=RUNS, help="runs of each model in each release")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="a run that takes longer has crashed")
    parser.add_argument("--baseline", action="store_true", help="run the original models")
    add_python(parser)
    return parser.parse_args()


def report(case: str, target: Where, entry: records.Record) -> None:
    """Print one line about a record."""
    relative = records.number(records.largest(entry, "relative"))
    varied = records.number(records.largest(entry, "spread"))
    message = " ".join(entry["says"].split())[:300]
    details = (
        f"relative {relative}, of outputs that vary by {varied}" if relative and not message else message
    )
    print(f"{case:28} {target.target:20} {entry['outcome']:14} {details}", flush=True)


def run_on(
    asked: list[PreparedCase], target: Where, change: Rewrite, args: argparse.Namespace
) -> Iterator[dict[str, records.Record]]:
    """Run the original and the rewritten model of each case in the target's binary; a record for each."""
    header = ROOT / target.header if target.header else None
    with unpacked_release(
        target.release, package=target.package, header=header, python=args.python
    ) as binary:
        for start in range(0, len(asked), TOGETHER):
            some = asked[start : start + TOGETHER]
            with tempfile.TemporaryDirectory() as folder:
                made = rewritten(some, target, change, Path(folder))
                yield outcomes(some, target, made, binary, args)


def rewritten(
    asked: list[PreparedCase], target: Where, change: Rewrite, folder: Path
) -> dict[str, Rewritten | str]:
    """Each model for the target, or why there is none."""
    with ProcessPoolExecutor(AT_ONCE, get_context("forkserver")) as pool:
        waiting = {
            (name := a.case.name): pool.submit(
                one_rewritten,
                change,
                a.path,
                target.target,
                a.case.fetches,
                folder / name,
                a.inputs if a.case.own_inputs else (),
            )
            for a in asked
        }
        return {name: outcome_of(work) for name, work in waiting.items()}


def outcome_of(work: Future[Rewritten | str]) -> Rewritten | str:
    try:
        return work.result()
    except BrokenProcessPool:
        return "the process that rewrites models ended"


def one_rewritten(
    change: Rewrite, model: Path, target: str, fetches: tuple[str, ...], out: Path, inputs: Inputs
) -> Rewritten | str:
    """The model for the target, or why there is none; a bug of tfport is an outcome too."""
    try:
        return change(model, target, fetches, out, inputs)
    except tfport.Error as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def outcomes(
    asked: list[PreparedCase],
    target: Where,
    made: dict[str, Rewritten | str],
    binary: Installation,
    args: argparse.Namespace,
) -> dict[str, records.Record]:
    """The originals are run once, the rewritten models several times."""
    there = [(a, new) for a in asked if not isinstance(new := made[a.case.name], str)]
    before = binary.run([job for a in asked for job in a.jobs(a.path, a.way)], seconds=args.seconds)
    jobs = [job for a, new in there for job in a.jobs(new.path, entrance_of(a, new))]
    after = binary.run(jobs, times=args.runs, seconds=args.seconds)
    originals = taken(before, asked)
    answers = taken(after, [a for a, _ in there])
    return {
        name: entry(a, target, binary, before.version, originals[name], made[name], answers.get(name, []))
        for a in asked
        if (name := a.case.name)
    }


def taken(ran: Ran, asked: list[PreparedCase]) -> dict[str, list]:
    """The answers of each case: for each run, those to all its inputs."""
    each = [iter(answers) for answers in ran.repeated]
    return {a.case.name: [[next(answers) for _ in a.inputs] for answers in each] for a in asked}


def entrance_of(asked: PreparedCase, made: Rewritten) -> Signature:
    """The same signature of the rewritten model; a graph without signatures keeps its tensor names."""
    model = tfport.load(str(made.path))
    return way_of(model, asked.way.name) if model.format is SAVED_MODEL else asked.way


def entry(
    asked: PreparedCase,
    target: Where,
    binary: Installation,
    reported: str,
    originals: list,
    made: Rewritten | str,
    runs: list,
) -> records.Record:
    if isinstance(made, str):
        result = Outcome(CANNOT, made)
    elif not asked.expected:
        result = Outcome(UNKNOWN, asked.reference, runs=len(runs))
    else:
        result = judged(runs, asked.expected, asked.tolerances)
    return {
        "written_by": asked.written_by,
        "original": anywhere(next((a for a in originals[0] if isinstance(a, str)), ""), asked.path),
        "outcome": result.outcome,
        "says": anywhere(result.says, asked.path),
        "runs": result.runs,
        "failed": result.failed,
        "varies": result.varies,
        "rules": [] if isinstance(made, str) else made.rules,
        "outputs": {
            name: measures(output) | {"spread": spread(e[name] for e in asked.expected)}
            for name, output in result.outputs.items()
        },
        "inputs": [{n: list(np.shape(v)) for n, v in inputs.items()} for inputs in asked.inputs],
        "reference": anywhere(asked.reference, asked.path),
        "binary": f"{target.package} {reported}",
        "wheel": binary.wheel,
        "sha256": binary.sha256,
        "emulated": is_emulated() and not isinstance(made, str),
        "tfport": version("tfport"),
    }


def anywhere(text: str, model: Path) -> str:
    """A message without the paths and the name of this machine."""
    kept = text.replace(str(model), "MODEL").replace(tempfile.gettempdir(), "TMP")
    return re.sub(r"running on \S+?\.(?= |$)", "running on HOST.", kept)


if __name__ == "__main__":
    sys.exit(main())
