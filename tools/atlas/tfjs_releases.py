"""Record what releases of TensorFlow.js run: asked of the real npm packages, in Node.

    python tools/atlas/tfjs_releases.py VERSION…

For each release: the ops of its converter package (`dist/operations/op_list`), the kernels that each backend
registers (`tf.getKernelsForBackend`), and for each op the kernels that it calls and whether it answers as TensorFlow
does, on the recorded cases of the tests: one node with its inputs. They run on the backend `cpu`, which has the most
kernels. The facts are kept in `src/tfport/atlas/tfjs/releases.json`; `tfport.atlas.tfjs.releases` says how to read them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tools/tfjs")]

import numpy as np
from node import NodeProcess, TfjsFailure, installed
from tests.runtime.cases import Case, cases_of, families
from tests.runtime.answers import recorded_answers

import tfport
from tfport.graph.attrs import Attr
from tfport.graph.dtypes import DType
from tfport.graph.save import as_saved_model
from tfport.graph.save_tfjs import save_tfjs

RECORD = ROOT / "src/tfport/atlas/tfjs/releases.json"
PROBE = Path(__file__).with_name("tfjs_probe.cjs")
RTOL, ATOL = 2e-3, 1e-4
HALF = 2e-2
RIGHT, WRONG, FAILS = "right", "wrong", "fails"


def listed(version: str) -> dict[str, Any]:
    """The ops of the converter, and the kernels of each backend."""
    done = subprocess.run(
        ["node", str(PROBE), str(installed(version))], check=True, capture_output=True, text=True
    )
    facts: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return facts


def cases(ops: set[str]) -> Iterator[tuple[Case, list[Any]]]:
    """The recorded cases of single nodes of these ops, with TensorFlow's answers."""
    for family in families():
        answers = recorded_answers(family)
        for case in cases_of(family):
            if case.op in ops and not case.text and not case.fails and not case.says:
                answer = answers.get(case.name)
                if isinstance(answer, list):
                    yield case, answer


def written(case: Case, folder: Path) -> tuple[dict[str, Any], list[str]] | None:
    """Write a case as a TensorFlow.js model; its feeds and fetches, or None if the numbers do not fit."""
    graph, feeds = case.model("engine")
    outputs = case.outputs()
    try:
        save_tfjs(as_saved_model(tfport.load(graph.SerializeToString()), outputs, list(feeds)), folder)
    except tfport.Error:
        return None
    return {name.partition(":")[0]: array for name, array in feeds.items()}, outputs


def is_same(ours: Any, theirs: Any) -> bool:
    if theirs is None:
        return True
    theirs = np.asarray(theirs)
    if theirs.shape != ours.shape:
        return False
    if theirs.dtype.kind == "O" or ours.dtype.kind == "O":
        return bool(ours.tolist() == theirs.tolist())
    if theirs.dtype.kind in "iub":
        return bool(np.array_equal(ours.astype(np.float64), theirs.astype(np.float64)))
    rtol = HALF if theirs.dtype.itemsize == 2 else RTOL
    kind = np.complex128 if theirs.dtype.kind == "c" else np.float64
    return bool(np.allclose(ours.astype(kind), theirs.astype(kind), rtol=rtol, atol=ATOL, equal_nan=True))


def asked(node: NodeProcess, path: Path, feeds: dict[str, Any], fetches: list[str], expected: list[Any]) -> Any:
    """What became of a case, the kernels that ran, and the error."""
    try:
        outputs, kernels = node.run(path, feeds, fetches)
    except TfjsFailure as failure:
        return FAILS, [], str(failure)
    except tfport.Error:
        return None
    same = len(outputs) == len(expected) and all(map(is_same, outputs, expected))
    return (RIGHT if same else WRONG), kernels, ""
