"""Run every real model in TensorFlow and in tfport, on the same inputs, and say where the answers differ.

    python -m tests.live.run_real [NAME…]     from the root of the repository; needs `make real-models` before

Inputs are generated from the signatures: two rows, 64 or 1 for other unknown sizes, and for strings an
empty Example, then a text. A model that TensorFlow itself cannot run on any of them is reported separately
from one that tfport cannot run.
"""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent.parent / "tools"))

import numpy as np

import real_models
import tfport
from tfport.graph.build import graph_to_def
from tfport.graph.model import Model, Signature, TensorSpec
from tfport.runtime.select_signature import select_signature

ROWS = 2
TRIES = ((64, b""), (64, b"hello world"), (1, b""))
"""Sizes of unknown axes after the first, and the value of strings."""
SECONDS = 600
TOLERANCE = 1e-4
SAME, DIFFERS, TF_CANNOT, WE_CANNOT = "same", "DIFFERS", "TensorFlow cannot", "TFPORT CANNOT"


def generate(spec: TensorSpec, rng: np.random.Generator, size: int, text: bytes) -> Any:
    dims = spec.shape.dims if spec.shape.dims is not None else (None,)
    shape = [d if d is not None else ROWS if i == 0 else size for i, d in enumerate(dims)]
    if spec.dtype.name == "string":
        return np.full(shape, text, object)
    if spec.dtype.name == "bool":
        return np.zeros(shape, bool)
    if spec.dtype.is_integer:
        return rng.integers(0, 3, shape).astype(spec.dtype.numpy)
    return rng.random(shape).astype(spec.dtype.numpy)


def theirs(model: Model, path: Path, fetches: list[str], feeds: dict[str, Any]) -> list[Any]:
    """Return TensorFlow's answers, from a session, which works for models of every release."""
    import tensorflow as tf

    v1 = tf.compat.v1
    plain = v1.ConfigProto()
    # its optimizations change the answers of some models by 1 in 400
    plain.graph_options.rewrite_options.disable_meta_optimizer = True
    with tf.Graph().as_default() as graph, v1.Session(graph=graph, config=plain) as session:
        if model.format.name == "SavedModel":
            v1.saved_model.load(session, list(model.tags), str(path))
        elif model.format.name == "MetaGraph":
            saver = v1.train.import_meta_graph(str(path), clear_devices=True)
            saver.restore(session, str(path).removesuffix(".meta"))
        else:
            graph_def = v1.GraphDef.FromString(graph_to_def(model.graph).SerializeToString())
            tf.import_graph_def(add_missing_attrs(graph_def), name="")
        return session.run(fetches, feeds)


def add_missing_attrs(graph_def: Any) -> Any:
    """Add attributes of fused ops that TF.js omits and TensorFlow requires."""
    for node in graph_def.node:
        if node.op.startswith("_Fused") and "num_args" in node.attr and "TArgs" not in node.attr:
            node.attr["TArgs"].list.type.extend([node.attr["T"].type] * node.attr["num_args"].i)
    return graph_def


def difference(ours: Any, expected: Any) -> str | None:
    a, b = np.asarray(ours), np.asarray(expected)
    if a.shape != b.shape:
        return f"shape {a.shape}, TensorFlow {b.shape}"
    if b.dtype.kind in "OS":
        return None if a.tolist() == b.tolist() else "strings differ"
    if b.dtype.kind not in "fc":
        return None if np.array_equal(a, b) else f"{int((a != b).sum())} of {a.size} differ"
    scale = max(float(np.nanmax(np.abs(b), initial=0)), 1e-6)
    worst = float(np.nanmax(np.abs(a.astype(np.complex128) - b), initial=0)) / scale
    same_nan = np.array_equal(np.isnan(a), np.isnan(b))
    return None if worst < TOLERANCE and same_nan else f"largest difference {worst:.2g} of the largest answer"


def compare(path: Path) -> dict[str, tuple[str, str]]:
    """Compare each signature of a model."""
    model = tfport.load(str(path))
    session = None
    outcomes = {}
    for name in list(model.signatures) or [None]:
        signature: Signature = select_signature(model, name)
        fetches = [tensor for spec in signature.outputs.values() for tensor in spec.tensors]
        feeds, expected = tensorflow_answers(model, path, signature, fetches)
        if isinstance(expected, str):
            outcomes[signature.name] = TF_CANNOT, expected
            continue
        try:
            session = session or tfport.Session(model)
            ours = session.run(fetches, feeds)
        except tfport.Error as error:
            outcomes[signature.name] = WE_CANNOT, str(error)[:600]
            continue
        rows = zip(fetches, ours, expected, strict=True)
        wrong = [f"{name}: {d}" for name, a, b in rows if (d := difference(a, b))]
        outcomes[signature.name] = (DIFFERS, "; ".join(wrong)[:300]) if wrong else (SAME, "")
    return outcomes


def tensorflow_answers(
    model: Model, path: Path, signature: Signature, fetches: list[str]
) -> tuple[dict[str, Any], Any]:
    """Return TensorFlow's feeds and answers, or the reason why it has none."""
    why = ""
    for size, text in TRIES:
        rng = np.random.default_rng(0)
        specs = [spec for spec in signature.inputs.values() if len(spec.tensors) == 1]
        feeds = {spec.tensors[0]: generate(spec, rng, size, text) for spec in specs}
        try:
            return feeds, theirs(model, path, fetches, feeds)
        except Exception as error:  # any error counts as TensorFlow's answer
            lines = [line for line in str(error).splitlines() if line and "Graph execution" not in line]
            why = why or " ".join(lines[:4])[:300]
    return {}, why


def jobs(names: list[str]) -> list[Path]:
    return [
        package.folder / path
        for package in real_models.packages()
        for _, path in package.models
        if (package.folder / path).exists() and (not names or package.name in names)
    ]


def in_a_process(path: Path) -> dict[str, tuple[str, str]]:
    with tempfile.NamedTemporaryFile("r") as out:
        command = [sys.executable, "-m", "tests.live.run_real", "--one", str(path), out.name]
        try:
            subprocess.run(command, timeout=SECONDS, capture_output=True, check=True)
        except subprocess.TimeoutExpired:
            return {"": (WE_CANNOT, f"no answer in {SECONDS} s")}
        except subprocess.CalledProcessError as error:
            lines = error.stderr.decode(errors="replace").strip().splitlines()
            return {"": (WE_CANNOT, lines[-1][:300] if lines else f"exit {error.returncode}")}
        return json.loads(out.read())


def main(args: list[str]) -> int:
    if args[:1] == ["--one"]:
        os.chdir(tempfile.mkdtemp())  # TensorFlow writes files for some graphs
        Path(args[2]).write_text(json.dumps(compare(Path(args[1]))))
        return 0
    counted: collections.Counter[str] = collections.Counter()
    for path in jobs(args):
        for name, (verdict, why) in in_a_process(path).items():
            counted[verdict] += 1
            print(f"{verdict}: {path.relative_to(real_models.CACHE)} {name} {why}", flush=True)
    print(dict(counted))
    return int(bool(counted[DIFFERS] or counted[WE_CANNOT]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
