"""Which formats convert to which, by running: tfport beside TensorFlow's converter, tf2onnx and onnx2tf.

    python tools/export_table/run.py [--count N] [--seed N] [--tensorflow PYTHON] [--tf2onnx PYTHON]
                                     [--onnx2tf PYTHON] [--page]

Draws COUNT models of each source format, converts each to every target with tfport, and with the other
converters where a Python that has them is named; `onnx2tf` gets what tf2onnx wrote. Each model is a process
of its own. The outcomes are kept in docs/evidence/export_table.json, from which docs/export.md is written;
`--page` only writes the page again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from page import write_page
from sources import KERAS_SAVED_MODEL, LITE, ROOT, drawn

sys.path.insert(0, str(ROOT / "tools"))

from lite_export_evidence import ends, measured

HERE = Path(__file__).parent
DATA = ROOT / "docs/evidence/export_table.json"
NO_ENTRY = 3
WRITTEN, REFUSED, NOT_READ = "written", "refused", "not read"
MOST_SECONDS = 1800


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


def by_others(path: Path, pythons: dict[str, str], folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """The outcomes of the other converters that are there."""
    try:
        signature, inputs, outputs = ends(path)
    except subprocess.CalledProcessError:  # tfport does not run it, so its ends are not known
        signature, inputs, outputs = "serving_default", [], []
    names = [",".join(inputs), ",".join(outputs)]
    for which in ("tflite", "tf2onnx"):
        if which in pythons:
            out = folder / f"model.{'tflite' if which == 'tflite' else 'onnx'}"
            command = [pythons[which], str(HERE / "others.py"), which, str(path), signature, str(out), *names]
            yield which, _outcome(measured(command, out), is_there=out.exists())
    onnx = folder / "model.onnx"
    if "onnx2tf" in pythons and onnx.exists():
        out = folder / "onnx2tf"
        command = [pythons["onnx2tf"], "-m", "onnx2tf", "-i", str(onnx), "-o", str(out)]
        cost = measured(command, out)
        yield "onnx2tf", _outcome(cost, is_there=any(out.glob("*.tflite")))


def _outcome(cost: dict[str, Any], *, is_there: bool) -> dict[str, Any]:
    refused = NOT_READ if cost["code"] == NO_ENTRY else REFUSED
    outcome = WRITTEN if cost["code"] == 0 and is_there else refused
    why = {} if outcome == WRITTEN else {"why": cost["says"]}
    return {"outcome": outcome, "seconds": cost["seconds"], **why}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=41)
    parser.add_argument("--tensorflow", dest="tflite", metavar="PYTHON")
    parser.add_argument("--tf2onnx", metavar="PYTHON")
    parser.add_argument("--onnx2tf", metavar="PYTHON")
    parser.add_argument("--page", action="store_true")
    args = parser.parse_args()
    if args.page:
        write_page(json.loads(DATA.read_text()))
        return
    pythons = {name: getattr(args, name) for name in ("tflite", "tf2onnx", "onnx2tf") if getattr(args, name)}
    models: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        queue = list(drawn(args.count, args.seed, Path(name)))
        for number, (source, label, path) in enumerate(queue):
            record: dict[str, Any] = {"source": source, "tfport": by_tfport(path)}
            folder = Path(name, str(number))
            folder.mkdir()
            record |= dict(by_others(path, pythons, folder))
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
