"""Export every recorded model (`tests/models`) to every other format, by the command itself.

    python tools/export_recorded.py

docs/evidence/export_recorded.json has the outcome of each: written, refused with the reason, or differs. An
export to TensorFlow Lite or TensorFlow.js compares the file with the model; ONNX Runtime loads ONNX files.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import tempfile
from pathlib import Path

import onnxruntime

from tfport.cli.main import main

ROOT = Path(__file__).parent.parent
DATA = ROOT / "docs" / "evidence" / "export_recorded.json"
TARGETS = {
    "ONNX": ["-o", "model.onnx"],
    "TensorFlow Lite": ["-o", "model.tflite"],
    "TensorFlow.js": ["--format", "tfjs", "-o", "tfjs"],
    "Triton": ["--format", "triton", "-o", "triton"],
    "weights": ["-o", "weights.npz"],
}


def outcome(path: str, target: str) -> str:
    shown = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        *options, name = TARGETS[target]
        output = str(Path(folder, name))
        with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
            code = main(["export", path, *options, output])
        if code == 0 and target == "ONNX":
            onnxruntime.InferenceSession(output)
        if code == 0:
            return "written"
    says = re.sub(r"\s+", " ", shown.getvalue()).replace(path, "the model").replace(f"{ROOT}/", "").strip()
    return f"{'differs' if 'outputs differ' in says else 'refused'}: {says.removeprefix('tfport: ')[:200]}"


def run() -> None:
    sys.path.insert(0, str(ROOT))
    from tests.recorded_models import path_of

    names = sorted(path.name for path in (ROOT / "tests" / "models").iterdir() if path.is_dir())
    outcomes = {name: {target: outcome(str(path_of(name)), target) for target in TARGETS} for name in names}
    DATA.write_text(json.dumps(outcomes, indent=1) + "\n")


if __name__ == "__main__":
    run()
