"""Export models as TensorFlow.js models, run each in the real TensorFlow.js, and compare with the original.

    python tools/tfjs/proof.py [--official PYTHON] [--records FILE] MODEL…

Each model is exported by the command line, in a process of its own. A written model runs in Node (4.22.0
and 3.21.0, on wasm if that backend has all kernels, otherwise on cpu) with generated inputs, and its
answers are compared with those of the original in tfport. `--official` names a Python with the official
`tensorflowjs` converter, which then converts SavedModels too. The outcomes are kept in a file, by model:
written, refused with the reason, or wrong.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from node import NodeProcess, TfjsFailure

import tfport
from tfport.atlas.tfjs.releases import tfjs_source
from tfport.fix.certify.trials import Trial, TrialBuilder
from tfport.graph.model import Model
from tfport.graph.reach import every_node
from tfport.graph.save import as_saved_model

HERE = Path(__file__)
RELEASES = ("4.22.0", "3.21.0")
MOST_SECONDS = 120
MOST_TRIALS = 2
RTOL, ATOL = 1e-3, 1e-4
WRITTEN, REFUSED, WRONG, FAILED = "written", "refused", "wrong", "failed"


def trials(model: Model) -> Iterator[Trial]:
    """Calls of a model that it answers."""
    (signature,) = model.signatures.values()
    builder = TrialBuilder(model, signature)
    first, more = builder.sizings()
    for sizing in (*first, *more):
        for profile in builder.profiles():
            trial = builder.trial(sizing, profile)
            if trial.finite and trial.inputs:
                yield trial


def is_same(ours: Any, theirs: Any) -> bool:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    if ours.shape != theirs.shape:
        return False
    if theirs.dtype.kind in "OSU":
        return bool(ours.tolist() == theirs.tolist())
    if theirs.dtype.kind in "iub":
        return bool(np.array_equal(ours.astype(np.float64), theirs.astype(np.float64)))
    kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
    a, b = ours.astype(kind), theirs.astype(kind)
    finite = np.abs(b[np.isfinite(b)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(a, b, rtol=RTOL, atol=max(ATOL, RTOL * scale / 10), equal_nan=True))


def compare(source: str, written: Path, signature: str | None) -> dict[str, Any]:
    """The outcome of a written model in each release."""
    original = tfport.load(source)
    saved = as_saved_model(original)
    copy = tfport.load(str(written))
    (ours,) = copy.signatures.values()
    name = signature or (ours.name if ours.name in saved.signatures else next(iter(saved.signatures)))
    session = tfport.Session(saved)
    ops = {node.op for node in every_node(copy.graph)}
    outcome: dict[str, Any] = {}
    calls = []
    for trial in trials(copy):
        try:
            answers = session.signature(name)(**trial.inputs)
        except tfport.Error:
            continue
        if all(np.size(answer) for answer in answers.values()):
            calls.append((trial.inputs, answers))
        if len(calls) == MOST_TRIALS:
            break
    if not calls:
        return {"outcome": "not compared"}
    for version in RELEASES:
        unknown = [op for op in ops if tfjs_source(version, "cpu").definition(op) is None]
        if unknown:
            outcome[version] = f"not for this release: {', '.join(sorted(unknown))}"
            continue
        on_wasm = tfport.check(copy, on=f"tfjs[wasm]=={version}").verdict == "runs"
        backend = "wasm" if on_wasm and not any(_strings(inputs) for inputs, _ in calls) else "cpu"
        outcome[version] = ran(NodeProcess(version, backend), written, ours, calls)
    return outcome


def _strings(inputs: dict[str, Any]) -> bool:
    return any(np.asarray(value).dtype.kind == "O" for value in inputs.values())


def ran(node: NodeProcess, written: Path, signature: Any, calls: list[Any], *, layers: bool = False) -> str:
    names = list(signature.outputs)
    try:
        for inputs, expected in calls:
            feeds = {
                signature.inputs[k].tensors[0].partition(":")[0]: v
                for k, v in inputs.items()
                if k in signature.inputs
            }
            fetches = [signature.outputs[k].tensors[0] for k in names]
            if layers:
                feeds, fetches = inputs, names
            outputs, _ = node.run(written / "model.json", feeds, fetches, layers=layers)
            for key, output in zip(names, outputs, strict=True):
                if not is_same(output, expected[key]):
                    a, b = np.asarray(output), np.asarray(expected[key])
                    return f"{WRONG} on {node.backend}: `{key}` {a.shape} {b.shape}{_distance(a, b)}"
    except TfjsFailure as failure:
        return f"{FAILED} on {node.backend}: {str(failure)[:200]}"
    finally:
        node.close()
    return f"same on {node.backend}, {len(calls)} inputs"


def _distance(ours: Any, theirs: Any) -> str:
    if ours.shape != theirs.shape or theirs.dtype.kind != "f":
        return ""
    far = np.nanmax(np.abs(ours.astype(float) - theirs.astype(float)))
    return f", {far:.3g} of {np.nanmax(np.abs(theirs)):.3g}"


def measured(command: list[str]) -> tuple[int, str, float, int]:
    """Exit code, output, seconds and peak memory in MB of a command."""
    start = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        code, text = done.returncode, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        code, text = 124, "too slow"
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return code, text, round(time.monotonic() - start, 2), max(peak, before) // 1024


def one(source: str, official: str | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "model"
        command = [
            sys.executable,
            "-m",
            "tfport",
            "export",
            source,
            "--format",
            "tfjs",
            "-o",
            str(out),
            "--json",
        ]
        code, text, seconds, memory = measured(command)
        record: dict[str, Any] = {"seconds": seconds, "mb": memory}
        if code == 0:
            record |= {"outcome": WRITTEN, **compare(source, out, None)}
        else:
            record |= {"outcome": REFUSED, "reason": _reason(text)}
        if source.endswith((".h5", ".keras")):
            record["layers"] = as_layers(source, Path(folder) / "layers")
        if official and (Path(source) / "saved_model.pb").exists():
            record["official"] = by_official(official, source, Path(folder) / "official")
    return record


def as_layers(source: str, out: Path) -> dict[str, Any]:
    """The outcome of a Keras file as a layers model, in each release."""
    command = [
        sys.executable,
        "-m",
        "tfport",
        "export",
        source,
        "--format",
        "tfjs-layers",
        "-o",
        str(out),
        "--json",
    ]
    code, text, _, _ = measured(command)
    if code:
        return {"outcome": REFUSED, "reason": _reason(text)}
    model = as_saved_model(tfport.load(source))
    (signature,) = model.signatures.values()
    session = tfport.Session(model)
    calls = [(t.inputs, session.signature(signature.name)(**t.inputs)) for t in _some(trials(model), session)]
    version = RELEASES[0]  # of which all layers are known
    return {"outcome": WRITTEN, version: ran(NodeProcess(version), out, signature, calls, layers=True)}


def _some(all_trials: Iterator[Trial], session: Any) -> Iterator[Trial]:
    """The first trials that a model answers."""
    found = 0
    for trial in all_trials:
        try:
            session.signature(trial.signature)(**trial.inputs)
        except tfport.Error:
            continue
        yield trial
        found += 1
        if found == MOST_TRIALS:
            return


def by_official(python: str, source: str, out: Path) -> dict[str, Any]:
    """The outcome of the official converter on a SavedModel."""
    command = [
        python,
        "-m",
        "tensorflowjs.converters.converter",
        "--input_format=tf_saved_model",
        source,
        str(out),
    ]
    code, text, seconds, _ = measured(command)
    if code or not (out / "model.json").exists():
        lines = [line for line in text.splitlines() if line.strip()]
        return {"outcome": REFUSED, "seconds": seconds, "reason": lines[-1][:200] if lines else ""}
    return {"outcome": WRITTEN, "seconds": seconds}


def _reason(text: str) -> str:
    try:
        found = json.loads(text)
        return "; ".join(found.get("remaining", ()))[:400] or str(found.get("verdict"))
    except json.JSONDecodeError:
        lines = [line for line in text.splitlines() if line.strip()]
        return lines[-1][:400] if lines else "no output"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--official")
    parser.add_argument("--records", type=Path, default=Path("tfjs.json"))
    parser.add_argument("--one", action="store_true", help="print the record of one model")
    args = parser.parse_args()
    if args.one:
        print(json.dumps(one(args.models[0], args.official)))
        return
    records = json.loads(args.records.read_text()) if args.records.exists() else {}
    for model in args.models:
        command = [sys.executable, str(HERE), "--one", model]
        command += ["--official", args.official] if args.official else []
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=3 * MOST_SECONDS, check=False
            )
            record = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else None
            record = record or {"outcome": "tool failed", "reason": done.stderr[-300:]}
        except subprocess.TimeoutExpired:
            record = {"outcome": "too slow"}
        records[model] = record
        print(model, json.dumps(record), flush=True)
        args.records.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
