"""Run rewritten models in real old releases, and compare them with the originals in today's release.

    python tools/truth/rewrites/run.py [CASE…] [--targets 1.4.1 …]
    python tools/truth/rewrites/run.py --baseline [CASE…]     run the original models; write no records

For each case of cases.toml (patterns with `*` and `?` are allowed), the expected outputs come from the
TensorFlow of .venv-live, run on the original or on its twin; if it refuses the model, from tfport's own
runtime. Then the model is rewritten for each target and run in the real binary of the target. The
outcome is written to docs/truth/fix.json.xz and fix.md; records of other cases stay. Wheels and rewritten
models are kept in a temporary folder, one wheel at a time.
"""

import argparse
import re
import sys
import tempfile
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from importlib.metadata import version
from pathlib import Path

import numpy as np
import rewrite_records as records
from cases import ROOT, Case, Where, brought, live_package, read_cases, where
from compare import Difference, difference, spread, worst
from inputs import inputs_for
from release import Answer, Job, Ran, run_in, run_installed, way_of
from rewrite import Rewrite, Rewritten, leave, rewrite

import tfport
from tfport.formats.saved_model.signature import SAVED_MODEL
from tfport.graph.model import Model, Signature
from tfport.runtime.composite import flatten_inputs

OUT = ROOT / "docs/truth/fix.json.xz"
SAME, DIFFERS, REFUSED, CANNOT, UNKNOWN = "same", "differs", "refused there", "not rewritten", "unknown"


@dataclass(frozen=True)
class PreparedCase:
    """A case with its model, inputs and expected outputs."""

    case: Case
    path: Path
    way: Signature
    written_by: str
    inputs: list[dict[str, np.ndarray]]
    expected: list[dict[str, np.ndarray]]
    reference: str

    def jobs(self, path: Path, way: Signature) -> list[Job]:
        return [Job(path, inputs, way) for inputs in self.inputs]


def main() -> int:
    args = arguments()
    cases = read_cases()
    chosen = [c for c in cases if any(fnmatchcase(c.name, pattern) for pattern in args.cases)]
    known = {c.name: [where(target).target for target in c.targets] for c in cases}
    asked = references(chosen)
    good = True
    for target in dict.fromkeys(where(t) for case in chosen for t in case.targets):
        if args.targets and not {target.target, target.release} & set(args.targets):
            continue
        here = [a for a in asked if target.target in known[a.case.name]]
        entries = run_on(here, target, leave if args.baseline else rewrite)
        if not args.baseline:
            records.write(OUT, {case: {target.target: e} for case, e in entries.items()}, known)
        for case, entry in entries.items():
            report(case, target, entry)
            good &= entry["outcome"] == SAME
    return 0 if good else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run rewritten models in real old releases.")
    parser.add_argument("cases", nargs="*", default=["*"], help="names of cases, with * and ? (default: all)")
    parser.add_argument("--targets", nargs="+", help="only these releases or targets")
    parser.add_argument("--baseline", action="store_true", help="run the original models")
    return parser.parse_args()


def report(case: str, target: Where, entry: records.Record) -> None:
    """Print one line about a record."""
    relative = records.number(records.largest(entry, "relative"))
    varied = records.number(records.largest(entry, "spread"))
    message = " ".join(entry["says"].split())[:300]
    details = f"relative {relative}, of outputs that vary by {varied}" if relative else message
    print(f"{case:28} {target.target:20} {entry['outcome']:14} {details}", flush=True)


# Expected outputs


def references(cases: list[Case]) -> list[PreparedCase]:
    """Every case with the expected outputs."""
    paths, asked, jobs = brought(cases), [], []
    for case in cases:
        model = tfport.load(str(paths[case.name]))
        way = way_of(model, case.signature, case.fetches, case.inputs)
        inputs = [inputs_for(way, case.inputs, batch) for batch in case.batches]
        asked.append(PreparedCase(case, paths[case.name], way, writer(model), inputs, [], ""))
        jobs += [Job(paths[case.twin], i) if case.twin else Job(paths[case.name], i, way) for i in inputs]
    ran = run_installed(live_package(), jobs, reference=True)
    answers = iter(ran.answers)
    return [expecting(a, [next(answers) for _ in a.inputs], ran.version) for a in asked]


def expecting(asked: PreparedCase, answers: list[Answer], release: str) -> PreparedCase:
    """Add the outputs of TensorFlow, or tfport's own if TensorFlow refuses the original."""
    outputs = [answer for answer in answers if not isinstance(answer, str)]
    if len(outputs) == len(answers):
        twin = f", of `{asked.case.twin}` in tools/truth/rewrites/models.py" if asked.case.twin else ""
        return replace(asked, expected=outputs, reference=f"tensorflow {release}{twin}")
    why = records.cell(next(answer for answer in answers if isinstance(answer, str)))
    reference = f"tfport {version('tfport')}, as tensorflow {release} refuses it: {why}"
    try:
        return replace(asked, expected=own_answers(asked), reference=reference)
    except tfport.Error as error:
        return replace(asked, reference=f"none, as tensorflow {release} and tfport refuse it: {error}")


def own_answers(asked: PreparedCase) -> list[dict[str, np.ndarray]]:
    session = tfport.Session(str(asked.path))
    tensors = [(name, tensor) for name, spec in asked.way.outputs.items() for tensor in spec.tensors]
    runs = [
        session.run([t for _, t in tensors], flatten_inputs(asked.way, inputs)) for inputs in asked.inputs
    ]
    return [{name: np.asarray(a) for (name, _), a in zip(tensors, run, strict=True)} for run in runs]


def writer(model: Model) -> str:
    """The release that wrote a model; for a frozen graph at most the producer is known."""
    release, producer = model.meta.meta_info_def.tensorflow_version, model.graph.rest.versions.producer
    return release or (f"producer {producer}" if producer else model.written_by or "unknown")


# Outcomes


def run_on(asked: list[PreparedCase], target: Where, change: Rewrite) -> dict[str, records.Record]:
    """Run the original and the rewritten model of each case in the target's binary; a record for each."""
    with tempfile.TemporaryDirectory() as folder:
        made = {a.case.name: rewritten(a, target, change, Path(folder, a.case.name)) for a in asked}
        jobs = [job for a in asked for job in a.jobs(a.path, a.way)]
        there = [a for a in asked if not isinstance(made[a.case.name], str)]
        for a in there:
            new = made[a.case.name]
            jobs += a.jobs(new.path, entrance_of(a, new))
        header = ROOT / target.header if target.header else None
        ran = run_in(target.release, jobs, package=target.package, header=header)
    answers = iter(ran.answers)
    originals = {a.case.name: [next(answers) for _ in a.inputs] for a in asked}
    outputs = {a.case.name: [next(answers) for _ in a.inputs] for a in there}
    return {
        name: entry(a, ran, target, originals[name], made[name], outputs.get(name, []))
        for a in asked
        if (name := a.case.name)
    }


def rewritten(asked: PreparedCase, target: Where, change: Rewrite, out: Path) -> Rewritten | str:
    """The model for the target, or why there is none; a bug of tfport is an outcome too."""
    print(f"{asked.case.name}: rewriting for {target.target}", file=sys.stderr, flush=True)
    try:
        return change(asked.path, target.target, asked.case.fetches, out)
    except tfport.Error as error:
        return str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def entrance_of(asked: PreparedCase, made: Rewritten) -> Signature:
    """The same signature of the rewritten model; a graph without signatures keeps its tensor names."""
    model = tfport.load(str(made.path))
    return way_of(model, asked.way.name) if model.format is SAVED_MODEL else asked.way


def entry(
    asked: PreparedCase,
    ran: Ran,
    target: Where,
    originals: list[Answer],
    made: Rewritten | str,
    answers: list[Answer],
) -> records.Record:
    outcome, says, outputs = (CANNOT, made, {}) if isinstance(made, str) else judged(asked, answers)
    return {
        "written_by": asked.written_by,
        "original": anywhere(next((a for a in originals if isinstance(a, str)), ""), asked.path),
        "outcome": outcome,
        "says": anywhere(says, asked.path),
        "rules": [] if isinstance(made, str) else made.rules,
        "outputs": {
            name: output.to_json() | {"spread": spread(e[name] for e in asked.expected)}
            for name, output in outputs.items()
        },
        "inputs": [{n: list(np.shape(v)) for n, v in inputs.items()} for inputs in asked.inputs],
        "reference": anywhere(asked.reference, asked.path),
        "binary": f"{target.package} {ran.version}",
        "wheel": ran.wheel,
        "sha256": ran.sha256,
        "tfport": version("tfport"),
    }


def anywhere(text: str, model: Path) -> str:
    """A message without the paths and the name of this machine."""
    kept = text.replace(str(model), "MODEL").replace(tempfile.gettempdir(), "TMP")
    return re.sub(r"running on \S+?\.(?= |$)", "running on HOST.", kept)


def judged(asked: PreparedCase, answers: list[Answer]) -> tuple[str, str, dict[str, Difference]]:
    """The outcome, a message, and the differences by output."""
    if message := next((a for a in answers if isinstance(a, str)), None):
        return REFUSED, message, {}
    if not asked.expected:
        return UNKNOWN, asked.reference, {}
    outputs = {}
    for name in asked.expected[0]:
        pairs = zip(answers, asked.expected, strict=True)
        each = [difference(a[name], wanted[name]) if name in a else "missing" for a, wanted in pairs]
        if wrong := next((d for d in each if isinstance(d, str)), None):
            return DIFFERS, f"{name}: {wrong}", {}
        outputs[name] = worst(d for d in each if isinstance(d, Difference))
    far = [name for name, output in outputs.items() if not output.within(asked.case.tolerance)]
    return (DIFFERS, f"{', '.join(far)}: too far apart", outputs) if far else (SAME, "", outputs)


if __name__ == "__main__":
    sys.exit(main())
