"""Export models as TensorFlow.js models, run each in the real TensorFlow.js, and compare with the original.

    python tools/tfjs/proof.py [--official PYTHON] [--backends LIST] [--seconds N] [--records FILE] MODEL…

Each model is exported by the command line, in a process of its own. A written model runs with ten generated
inputs in Node (4.22.0 on cpu and wasm, 3.21.0 on wasm or cpu) and in Chromium (4.22.0 on webgl), where
`check` says that it runs, and its answers are compared with those of the original in tfport. A backend has
N seconds, or 15: slow ones get fewer inputs, which the record says. `--official` names a Python with the
official `tensorflowjs` converter, whose files run in the same way, on one backend. A run adds to the record
of a model what it measured, so that `--backends webgl` can come later.
The outcomes are kept in a file, by model: written, refused with the reason, or wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from chromium import ChromiumPage
from node import NodeProcess, TfjsFailure

import tfport
from compared_calls import ComparedCalls, differences
from tfport.fix.certify.trials import Trial, TrialBuilder
from tfport.fix.export import saved_with
from tfport.fix.options import FixOptions
from tfport.graph.model import Model, Signature
from tfport.graph.save_tfjs import chosen_signature

HERE = Path(__file__)
NEWEST, OLDER = "4.22.0", "3.21.0"
MOST_SECONDS = 300
"""Of a conversion."""
MOST_SECONDS_OF_MODEL = 1200
MOST_TRIALS = 10
BACKENDS = ("wasm", "cpu", "older", "webgl")
"""`older` is a release before, on wasm or cpu."""
WRITTEN, REFUSED, FAILED = "written", "refused", "failed"
Call = tuple[Trial, dict[str, Any]]
"""A trial and the expected outputs, by the names of the signature."""


def trials(model: Model, signature: Signature) -> Iterator[Trial]:
    """Calls of a model with finite numbers."""
    builder = TrialBuilder(model, signature)
    first, more = builder.sizings()
    for sizing in (*first, *more):
        for profile in builder.profiles():
            trial = builder.trial(sizing, profile)
            if trial.finite and trial.inputs:
                yield trial


def calls(source: Model, written: Model, name: str) -> list[Call]:
    """The first calls that the original answers with something; random outputs are left out."""
    answer = tfport.Session(source).signature(name)
    (signature,) = written.signatures.values()
    found: list[Call] = []
    for trial in trials(written, signature):
        try:
            outputs, again = answer(**trial.inputs), answer(**trial.inputs)
        except tfport.Error:
            continue
        outputs = {
            key: output
            for key, output in outputs.items()
            if not differences({key: again[key]}, {key: output})
        }
        if outputs and all(np.size(output) for output in outputs.values()):
            found.append((trial, outputs))
        if len(found) == MOST_TRIALS:
            break
    return found


def backends(written: Model, asked: Sequence[str] = BACKENDS) -> Iterator[tuple[str, str]]:
    """The releases and backends that run a written model, by `check`."""

    def runs(version: str, backend: str) -> bool:
        return backend in asked and tfport.check(written, on=f"tfjs[{backend}]=={version}").verdict == "runs"

    yield from [(NEWEST, backend) for backend in ("wasm", "cpu") if runs(NEWEST, backend)]
    if "older" in asked:
        yield from [(OLDER, backend) for backend in ("wasm", "cpu") if runs(OLDER, backend)][:1]
    yield from [(NEWEST, "webgl")] if runs(NEWEST, "webgl") else []


def answered(
    runtime: NodeProcess | ChromiumPage,
    file: Path,
    written: Signature,
    known: list[Call],
    compared: ComparedCalls,
    *,
    seconds: float,
    layers: bool = False,
) -> str:
    """What became of a model in a runtime: same, wrong or failed."""
    start, done = time.monotonic(), 0
    names = [name for name in known[0][1] if name in written.outputs] or list(written.outputs)
    try:
        for trial, expected in known:
            if done and time.monotonic() - start > seconds:
                break
            feeds = {
                written.inputs[k].tensors[0].partition(":")[0]: v
                for k, v in trial.inputs.items()
                if k in written.inputs
            }
            fetches = [written.outputs[name].tensors[0] for name in names]
            if layers:
                feeds, fetches = trial.inputs, names
            outputs, _ = runtime.run(file, feeds, fetches, layers=layers)
            wanted = {name: expected[name] for name in names}
            done += 1
            compared.add(trial, dict(zip(names, outputs, strict=True)), wanted, f"input {done}")
    except TfjsFailure as failure:
        return f"{FAILED}: input {done + 1}: {str(failure)[:200]}"
    finally:
        runtime.close()
    return compared.wrong() or f"same, {done} inputs"


def measured(command: list[str], most_seconds: float = MOST_SECONDS) -> tuple[int, str, dict[str, float]]:
    """Exit code, output, and seconds, processor seconds and peak memory in MB of a command."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - start > most_seconds:
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.02)
        process.returncode = code = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    costs = {
        "seconds": round(time.monotonic() - start, 2),
        "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 2),
        "mb": usage.ru_maxrss // 1024,
    }
    return code, "too slow" if code == -signal.SIGKILL else text, costs


def exported(source: str, kind: str, out: Path) -> tuple[int, dict[str, Any]]:
    command = [sys.executable, "-m", "tfport", "export", source, "--format", kind, "-o", str(out), "--json"]
    code, text, costs = measured(command)
    is_refused = code in (1, 2) and "Traceback (most recent" not in text
    refused = {"outcome": REFUSED if is_refused else "crashed", "reason": _reason(text)}
    return code, {**costs, **({"outcome": WRITTEN} if code == 0 else refused)}


def one(source: str, official: str | None, asked: Sequence[str], seconds: float) -> Iterator[dict[str, Any]]:
    """The record of a model, more complete each time."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, record = exported(source, "tfjs", folder / "model")
        yield record
        model = saved_with(tfport.load(source), FixOptions())
        signature = chosen_signature(model)
        known: list[Call] = []
        if code == 0:
            copy = tfport.load(folder / "model")
            known = calls(model, copy, signature)
            if not known:
                record["not compared"] = "tfport runs it with none of the generated inputs"
        if official and (converted := by_official(official, source, model, signature, folder / "official")):
            record["official"] = converted
            yield record
            if converted["outcome"] == WRITTEN:
                theirs = tfport.load(folder / "official")
                converted["answers"] = by_first_backend(folder, theirs, model, signature, known, seconds)
        if source.endswith((".h5", ".keras")):
            record["layers"] = as_layers(source, folder / "layers", model, signature, seconds)
        for version, backend in backends(copy, asked) if known else ():
            browser = backend == "webgl"
            runtime = ChromiumPage(version, backend, folder) if browser else NodeProcess(version, backend)
            (ours,) = copy.signatures.values()
            compared = ComparedCalls(model, signature)
            record[f"{version} {backend}"] = answered(
                runtime, folder / "model/model.json", ours, known, compared, seconds=seconds
            )
            yield record
        yield record


def as_layers(source: str, out: Path, model: Model, signature: str, seconds: float) -> dict[str, Any]:
    """The outcome of a Keras file as a layers model."""
    code, record = exported(source, "tfjs-layers", out)
    if code == 0:
        known = calls(model, model, signature)
        node = NodeProcess(NEWEST)
        described = model.signatures[signature]
        compared = ComparedCalls(model, signature)
        record[NEWEST] = answered(
            node, out / "model.json", described, known, compared, seconds=seconds, layers=True
        )
    return record


def by_official(python: str, source: str, model: Model, signature: str, out: Path) -> dict[str, Any] | None:
    """The outcome of the official converter; None for a format that it does not read."""
    if (Path(source) / "saved_model.pb").exists():
        options = ["--input_format=tf_saved_model", f"--signature_name={signature}"]
    elif source.endswith(".pb"):
        outputs = [v.node.name for v in model.ends_of(model.signatures[signature])]
        options = ["--input_format=tf_frozen_model", f"--output_node_names={','.join(outputs)}"]
    elif source.endswith((".h5", ".keras")):
        options = ["--input_format=keras", "--output_format=tfjs_graph_model"]
    else:
        return None
    command = [python, "-m", "tensorflowjs.converters.converter", *options, source, str(out)]
    code, text, costs = measured(command)
    if code or not (out / "model.json").exists():
        return {"outcome": REFUSED, **costs, "reason": _reason(text)}
    return {"outcome": WRITTEN, **costs}


def by_first_backend(
    folder: Path, written: Model, source: Model, signature: str, known: list[Call], seconds: float
) -> str:
    """What became of a file of the official converter, on wasm where it runs."""
    (theirs,) = written.signatures.values()
    if set(theirs.outputs).isdisjoint(source.signatures[signature].outputs):
        return "other names"
    known = known or calls(source, written, signature)
    version, backend = next(backends(written), (NEWEST, "cpu"))
    if not known or backend == "webgl":
        return "not compared"
    compared = ComparedCalls(source, signature)
    file, node = folder / "official/model.json", NodeProcess(version, backend)
    said = answered(node, file, theirs, known, compared, seconds=seconds)
    return f"{version} {backend}: {said}"


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
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--records", type=Path, default=Path("tfjs.json"))
    parser.add_argument("--one", action="store_true", help="print the record of one model")
    args = parser.parse_args()
    if args.one:
        for record in one(args.models[0], args.official, args.backends.split(","), args.seconds):
            print(json.dumps(record), flush=True)
        return
    records = json.loads(args.records.read_text()) if args.records.exists() else {}
    for model in args.models:
        command = [sys.executable, str(HERE), "--one", model, "--backends", args.backends]
        command += ["--seconds", str(args.seconds)]
        command += ["--official", args.official] if args.official else []
        code, text, _ = measured(command, MOST_SECONDS_OF_MODEL)
        found = [json.loads(line) for line in text.splitlines() if line.startswith('{"')]
        record = found[-1] if found else {"outcome": "tool failed"}
        if code:
            record["tool"] = text.strip().splitlines()[-1][-300:] if text.strip() else str(code)
        records[model] = {**records.get(model, {}), **record}
        print(model, json.dumps(record), flush=True)
        args.records.write_text(json.dumps(records, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
