"""Other forms of a real model, for contenders that cannot read it as it is.

A GraphDef in TensorFlow's own ops (TF.js has some of its own), the frozen GraphDef, the ONNX file of
`tfport export`, that of tf2onnx, and the `.tflite` file of TensorFlow. `write_forms` adds their paths to a
job; a form that cannot be made is None, and the reason is printed to stderr.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Collection
from functools import cache
from pathlib import Path
from typing import Any

from real_inputs import RealModel
from tests.live.run_real import add_missing_attrs

from tfport.atlas.resolve.targets import resolve_targets
from tfport.atlas.target import Target
from tfport.errors import Error
from tfport.fix.attempt import ModelForm, attempt
from tfport.fix.options import FixOptions
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model, Signature
from tfport.runtime.export import export_signature
from tfport.runtime.session import Session

FORMS = ("graph_def", "frozen", "onnx", "tf2onnx", "tflite")
OPSET = "17"
OF_TFJS = frozenset(("FusedDepthwiseConv2dNative", "Prelu"))
"""Ops that only TF.js has."""
MAX_SECONDS = 300
NEEDS_FROZEN = frozenset(("tensorflow", "openvino", "tf2onnx", "litert"))


def write_forms(
    real: RealModel, model: Model, signature: Signature, job: dict[str, Any], contenders: Collection[str]
) -> None:
    """Write what the contenders need into the folder of the job."""
    folder = Path(job["inputs"]).parent

    def made(name: str, write: Callable[[Path], None]) -> str | None:
        path = folder / name
        try:
            write(path)
        except (Error, subprocess.SubprocessError) as error:
            print(f"  {real.name}: no {name}: {error}"[:200], file=sys.stderr)
            return None
        return str(path)

    if real.kind in ("graph_def", "tfjs"):
        job["graph_def"] = made("graph.pb", lambda path: _write_graph_def(model, path))
    if NEEDS_FROZEN & set(contenders) or real.kind == "meta_graph":
        job["frozen"] = made("frozen.pb", lambda path: _write_frozen(model, signature, path))
    if "openvino" in contenders:
        job["onnx"] = made("tfport.onnx", lambda path: _export(model, signature, path))
    if "tf2onnx" in contenders and job["frozen"]:
        job["tf2onnx"] = made("tf2onnx.onnx", lambda path: _convert(job, path))
    if "litert" in contenders and job["frozen"]:
        job["tflite"] = made("model.tflite", lambda path: _to_tflite(job, path))


@cache
def _tensorflow() -> Target:
    return resolve_targets("tensorflow==2.21.0")[0]


def _write_graph_def(model: Model, path: Path) -> None:
    """Write the graph in ops that TensorFlow has."""
    if any(node.op in OF_TFJS for node in model.graph):
        model = attempt(model, _tensorflow(), ModelForm.AS_IT_IS, FixOptions()).model
    path.write_bytes(add_missing_attrs(graph_to_def(model.graph)).SerializeToString())


def _write_frozen(model: Model, signature: Signature, path: Path) -> None:
    """Write a GraphDef of the signature, with constants for variables and without functions."""
    fetches = tuple(tensor for spec in signature.outputs.values() for tensor in spec.tensors)
    has_name = signature.name in model.signatures
    options = FixOptions(
        signatures=(signature.name,) if has_name else None,
        fetches=() if has_name else fetches,
        freeze=True,
        drop_asserts=True,
    )
    frozen = attempt(model, _tensorflow(), ModelForm.FROZEN, options).model
    path.write_bytes(add_missing_attrs(graph_to_def(frozen.graph)).SerializeToString())


def _export(model: Model, signature: Signature, path: Path) -> None:
    export_signature(Session(model), signature, str(path))


def _convert(job: dict[str, Any], path: Path) -> None:
    command = [
        sys.executable, "-m", "tf2onnx.convert", "--graphdef", job["frozen"], "--opset", OPSET,
        "--inputs", ",".join(job["feeds"]), "--outputs", ",".join(job["fetches"]), "--output", str(path),
    ]  # fmt: skip
    _run("tf2onnx", command)


def _to_tflite(job: dict[str, Any], path: Path) -> None:
    written = path.with_suffix(".json")
    written.write_text(json.dumps(job))
    script = Path(__file__).with_name("real_tflite.py")
    _run("TFLiteConverter", [sys.executable, str(script), str(written), str(path)])


def _run(name: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=MAX_SECONDS, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise Error(f"{name}: {lines[-1] if lines else done.returncode}")
