"""Recorded `.tflite` cases that the default engine hands to LiteRT have the interpreter's answers."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.lite.cases import OPTIMIZED, run
from tests.runtime.answers import recorded_answers

import tfport
from tfport.runtime.engines.engine import LiteFiles

pytest.importorskip("ai_edge_litert", reason="LiteRT is optional")
from tfport.runtime.engines.litert.whole_file import whole_file

ROOT = Path(__file__).parents[4]


def tables():
    """The families of recorded cases, and their tables."""
    for path in sorted(ROOT.glob("tests/frontends/lite/ops/**/test_*.py")):
        family = re.search(r'\bcheck\("(\w+)", c\)', path.read_text())
        if family:
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            yield family[1], module.CASES


def goes_to_litert(case):
    file = whole_file(tfport.load(case.model), 1, LiteFiles.ROBUST)
    return file is not None and file.plan(list(file.outputs), list(file.inputs)) is not None


def is_close(case, ours, theirs, optimized):
    """Integers within a step of either kind of kernels, floats within the tolerance of the case."""
    if (ours.dtype, ours.shape) != (theirs.dtype, theirs.shape):
        return False
    if theirs.dtype.kind == "f":
        return np.allclose(ours, theirs, case.rtol or 1e-5, case.atol or 1e-6, equal_nan=True)
    recorded = [theirs] if optimized is None else [theirs, optimized]
    steps = max(case.steps, case.optimized_steps or 0) if ours.dtype.kind in "iu" else 0
    return any(
        np.abs(ours.astype(np.int64) - answer.astype(np.int64)).max(initial=0) <= steps for answer in recorded
    )


@pytest.mark.parametrize(("family", "cases"), [pytest.param(f, c, id=f) for f, c in tables()])
def test_answers_are_the_recorded_ones(family, cases):
    answers, wrong = recorded_answers(f"lite_{family}"), []
    for case in cases:
        if case.fails or not goes_to_litert(case):
            continue
        ours = run(case, "file")
        optimized = answers.get(OPTIMIZED + case.name) or [None] * len(ours)
        for each, theirs, other in zip(ours, answers[case.name], optimized, strict=True):
            if not is_close(case, each, theirs, other):
                wrong.append((case.name, case.options, each, theirs))
    assert not wrong, wrong


def test_most_ops_of_networks_are_among_them():
    ops = {case.op for _, cases in tables() for case in cases if not case.fails and goes_to_litert(case)}
    assert {"CONV_2D", "FULLY_CONNECTED", "MEAN", "SOFTMAX", "TRANSPOSE_CONV"} <= ops
