"""Which formats convert to which, by running: tfport beside TensorFlow's converter, tf2onnx and onnx2tf.

    python tools/export_table/run.py [--count N] [--seed N] [--tensorflow PYTHON] [--tf2onnx PYTHON]
                                     [--onnx2tf PYTHON] [--work FOLDER] [--page]

Draws COUNT models of each source format, converts each to every target with tfport, and with the other
converters where a Python that has them is named; `onnx2tf` gets what tf2onnx wrote. Each model is a process
of its own. ONNX Runtime and LiteRT, beside tfport, load what the others wrote. The outcomes go to
docs/evidence/export_table.json when the last model is done, and from there to docs/export.md; `--page` only
writes the page again. `--work` keeps the outcomes of each model in a folder: a run that was interrupted goes
on there with what is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from page import write_page
from sources import KERAS_SAVED_MODEL, LITE, ROOT, drawn

sys.path.insert(0, str(ROOT / "tools"))

from lite_export_evidence import ends

HERE = Path(__file__).parent
DATA = ROOT / "docs/evidence/export_table.json"
NO_ENTRY, OUT_OF_TIME = 3, 4
WRITTEN, INVALID, REFUSED, NOT_READ, TOO_SLOW = "written", "invalid", "refused", "not read", "too slow"
MOST_SECONDS = 1800
FILES = {"tflite": "model.tflite", "tf2onnx": "model.onnx", "onnx2tf": "onnx2tf"}
"""What each of the other converters writes in the folder of a model."""


def by_tfport(path: Path) -> dict[str, Any]:
    """The outcome of each target."""
    command = [sys.executable, str(HERE / "convert.py"), str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        text = done.stdout
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode()
    found: dict[str, Any] = {}
    for line in text.splitlines():
        if line.startswith("{"):
            found |= json.loads(line)
    return found


class Converter:
    """Another converter, in a process that has imported it."""

    def __init__(self, which: str, python: str) -> None:
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        self.worker = subprocess.Popen(
            [python, str(HERE / "others.py"), which],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self.release = self._answer()

    def outcome(self, path: Path, out: Path, signature: str, ends: list[list[str]]) -> dict[str, Any]:
        assert self.worker.stdin is not None
        print(json.dumps([str(path), signature, str(out), *ends]), file=self.worker.stdin, flush=True)
        cost = self._answer()
        is_there = any(out.glob("*.tflite")) if out.is_dir() else out.exists()
        if cost["code"] == 0 and is_there:
            return {"outcome": WRITTEN, "cpu_seconds": cost["cpu_seconds"]}
        outcome = {NO_ENTRY: NOT_READ, OUT_OF_TIME: TOO_SLOW}.get(cost["code"], REFUSED)
        why = cost["says"].replace(str(Path.home()), "~").replace(f" running on {platform.node()}", "")
        return {"outcome": outcome, "cpu_seconds": cost["cpu_seconds"], "why": why}

    def _answer(self) -> Any:
        assert self.worker.stdout is not None
        line = self.worker.stdout.readline()
        if not line:
            sys.exit(f"{self.worker.args} ended with code {self.worker.wait()}")
        return json.loads(line)


def by_other(which: str, converter: Converter, path: Path, folder: Path) -> dict[str, Any]:
    """The outcome of another converter, whose file stays in a folder."""
    out = folder / FILES[which]
    if which == "onnx2tf":
        shutil.rmtree(out, ignore_errors=True)  # of a run that was interrupted
        out.mkdir()
        return converter.outcome(folder / FILES["tf2onnx"], out, "", [[], []])
    try:
        signature, *names = ends(path)
    except subprocess.CalledProcessError:  # tfport does not run it, so its ends are not known
        signature, *names = "serving_default", [], []
    return converter.outcome(path, out, signature, names)


LOADS = r"""
import sys
file = sys.argv[1]
if file.endswith(".onnx"):
    import onnxruntime
    onnxruntime.InferenceSession(file)
else:
    from ai_edge_litert.interpreter import Interpreter
    Interpreter(file).allocate_tensors()
"""


def invalid(out: Path) -> str:
    """Why ONNX Runtime or LiteRT does not load what was written; empty if it does."""
    file = min(out.glob("*float32.tflite"), default=out) if out.is_dir() else out
    done = subprocess.run(
        [sys.executable, "-c", LOADS, str(file)], capture_output=True, text=True, check=False
    )
    lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"code {done.returncode}"]
    return "" if done.returncode == 0 else lines[-1][:200]


def outcomes(source: str, path: Path, folder: Path, converters: dict[str, Converter]) -> dict[str, Any]:
    """The outcomes of all converters for a model; those that its folder has are not asked again."""
    file = folder / "outcomes.json"
    found = json.loads(file.read_text()) if file.exists() else {"source": source}
    if "tfport" not in found:
        found["tfport"] = by_tfport(path)
        file.write_text(json.dumps(found))
    for which, converter in converters.items():
        if which == "onnx2tf" and found.get("tf2onnx", {}).get("outcome") != WRITTEN:
            continue
        if which not in found:
            found[which] = by_other(which, converter, path, folder)
        if found[which]["outcome"] == WRITTEN and (why := invalid(folder / FILES[which])):
            found[which] |= {"outcome": INVALID, "why": why}
        file.write_text(json.dumps(found))
    return found


def table(count: int, seed: int, converters: dict[str, Converter], work: Path) -> dict[str, Any]:
    """What is kept of a run: the outcomes of each model."""
    models: dict[str, dict[str, Any]] = {}
    queue = list(drawn(count, seed, work))
    for source, label, path in queue:
        name = f"{label} ({source})"
        folder = work / "".join(c if c.isalnum() else "_" for c in name)
        folder.mkdir(exist_ok=True)
        models[name] = outcomes(source, path, folder, converters)
        lite = models[name].get("tflite", {}).get("outcome")
        if source in ("SavedModel", KERAS_SAVED_MODEL) and lite == WRITTEN:
            queue.append((LITE, label, folder / FILES["tflite"]))
        print(name, {k: v["outcome"] for k, v in models[name]["tfport"].items()}, flush=True)
    releases = {which: converter.release for which, converter in converters.items()}
    return {"count": count, "seed": seed, "converters": releases, "models": models}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--tensorflow", dest="tflite", metavar="PYTHON")
    parser.add_argument("--tf2onnx", metavar="PYTHON")
    parser.add_argument("--onnx2tf", metavar="PYTHON")
    parser.add_argument("--work", type=Path, metavar="FOLDER")
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    if not args.page:
        pythons = {which: getattr(args, which) for which in FILES if getattr(args, which)}
        converters = {which: Converter(which, python) for which, python in pythons.items()}
        with tempfile.TemporaryDirectory() as name:
            work = args.work or Path(name)
            work.mkdir(exist_ok=True, parents=True)
            document = table(args.count, args.seed, converters, work)
            text = json.dumps(document, indent=1, ensure_ascii=False).replace(f"{work}/", "")
        DATA.write_text(f"{text}\n")
    write_page(json.loads(DATA.read_text()))


if __name__ == "__main__":
    main()
