"""Which formats convert to which, by running: tfport beside TensorFlow's converter, tf2onnx and onnx2tf.

    python tools/export_table/run.py [--count N] [--seed N] [--tensorflow PYTHON] [--tf2onnx PYTHON]
                                     [--onnx2tf PYTHON] [--keep] [--page]

Draws COUNT models of each source format, converts each to every target with tfport, and with the other
converters where a Python that has them is named; `onnx2tf` gets what tf2onnx wrote. Each model is a process
of its own. The outcomes are kept in docs/evidence/export_table.json, from which docs/export.md is written;
`--keep` keeps tfport's outcomes of the last run that were written, `--page` only writes the page again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from page import write_page
from sources import KERAS_SAVED_MODEL, LITE, ROOT, drawn

sys.path.insert(0, str(ROOT / "tools"))

from lite_export_evidence import ends

HERE = Path(__file__).parent
DATA = ROOT / "docs/evidence/export_table.json"
NO_ENTRY = 3
WRITTEN, REFUSED, NOT_READ = "written", "refused", "not read"
MOST_SECONDS = 1800


def by_tfport(path: Path, kept: dict[str, Any]) -> dict[str, Any]:
    """The outcome of each target; those that are kept are not tried again."""
    command = [sys.executable, str(HERE / "convert.py"), str(path), *kept]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
        text = done.stdout
    except subprocess.TimeoutExpired as error:
        text = (error.stdout or b"").decode()
    found: dict[str, Any] = dict(kept)
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

    def outcome(self, path: Path, out: Path, signature: str, ends: list[list[str]]) -> dict[str, Any]:
        assert self.worker.stdin is not None
        assert self.worker.stdout is not None
        print(json.dumps([str(path), signature, str(out), *ends]), file=self.worker.stdin, flush=True)
        cost = json.loads(self.worker.stdout.readline())
        is_there = any(out.glob("*.tflite")) if out.is_dir() else out.exists()
        refused = NOT_READ if cost["code"] == NO_ENTRY else REFUSED
        outcome = WRITTEN if cost["code"] == 0 and is_there else refused
        why = {} if outcome == WRITTEN else {"why": cost["says"].replace(str(Path.home()), "~")}
        return {"outcome": outcome, "seconds": cost["seconds"], **why}


def by_others(
    path: Path, converters: dict[str, Converter], folder: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The outcomes of the other converters that are there."""
    try:
        signature, *names = ends(path)
    except subprocess.CalledProcessError:  # tfport does not run it, so its ends are not known
        signature, *names = "serving_default", [], []
    for which in ("tflite", "tf2onnx"):
        if which in converters:
            out = folder / f"model.{'tflite' if which == 'tflite' else 'onnx'}"
            yield which, converters[which].outcome(path, out, signature, names)
    onnx = folder / "model.onnx"
    if "onnx2tf" in converters and onnx.exists():
        out = folder / "onnx2tf"
        out.mkdir()
        yield "onnx2tf", converters["onnx2tf"].outcome(onnx, out, "", [[], []])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--tensorflow", dest="tflite", metavar="PYTHON")
    parser.add_argument("--tf2onnx", metavar="PYTHON")
    parser.add_argument("--onnx2tf", metavar="PYTHON")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    if args.page:
        write_page(json.loads(DATA.read_text()))
        return
    pythons = {name: getattr(args, name) for name in ("tflite", "tf2onnx", "onnx2tf") if getattr(args, name)}
    converters = {name: Converter(name, python) for name, python in pythons.items()}
    known = json.loads(DATA.read_text())["models"] if args.keep else {}
    models: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        queue = list(drawn(args.count, args.seed, Path(name)))
        for number, (source, label, path) in enumerate(queue):
            before = known.get(f"{label} ({source})", {}).get("tfport", {})
            kept = {target: cell for target, cell in before.items() if cell["outcome"] == WRITTEN}
            record: dict[str, Any] = {"source": source, "tfport": by_tfport(path, kept)}
            folder = Path(name, str(number))
            folder.mkdir()
            record |= dict(by_others(path, converters, folder))
            lite = folder / "model.tflite"
            if lite.exists() and source in ("SavedModel", KERAS_SAVED_MODEL):
                queue.append((LITE, label, lite))
            models[f"{label} ({source})"] = record
            print(source, label, {k: v["outcome"] for k, v in record["tfport"].items()}, flush=True)
            document = {
                "count": args.count,
                "seed": args.seed,
                "converters": sorted(pythons),
                "models": models,
            }
            DATA.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    write_page(document)


if __name__ == "__main__":
    main()
