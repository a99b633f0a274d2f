"""The outcome of several runs of a rewritten model in a real release."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "tools/truth/rewrites"))

from jobs import Crash, way_of
from judge import judged
from references import tolerances
from tests.recorded_models import graph

import tfport
from tfport.fix.certify.compare import NarrowestType, Tolerance
from tfport.graph.build import graph_to_def

EXPECTED = [{"y": np.float32([1, 2])}, {"y": np.float32([4])}]
GOOD = [dict(answer) for answer in EXPECTED]
CLOSE = [{"y": np.float32([1, 2.00001])}, {"y": np.float32([4])}]
FAR = [{"y": np.float32([1, 3])}, {"y": np.float32([4])}]
BENT = [{"y": np.float32([[1, 2]])}, {"y": np.float32([4])}]
SEGV = [GOOD[0], Crash("ends the process: SIGSEGV. ")]
NO_OP = ["Op type not registered"] * 2

CASES = [  # runs, outcome, failed, message
    ([GOOD] * 3, "same", 0, ""),
    ([GOOD, CLOSE], "same", 0, ""),
    ([GOOD, SEGV, SEGV], "crashed", 2, "2 of 3: ends the process: SIGSEGV. "),
    ([SEGV, FAR, NO_OP], "crashed", 1, "1 of 3: ends the process: SIGSEGV. "),
    ([SEGV], "crashed", 1, "1 of 1: ends the process: SIGSEGV. "),
    ([NO_OP] * 3, "refused there", 3, "Op type not registered"),
    ([GOOD, NO_OP], "refused there", 1, "1 of 2: Op type not registered"),
    ([GOOD, FAR], "differs", 1, "1 of 2: y: element [1] is 3; expected 2"),
    ([BENT], "differs", 1, "y: its shape is [1, 2]; expected [2]"),
    ([[{}, {}]], "differs", 1, "y: missing"),
]


@pytest.mark.parametrize(("runs", "outcome", "failed", "says"), CASES)
def test_the_worst_run_decides_and_is_counted(runs, outcome, failed, says):
    result = judged(runs, EXPECTED, {})
    assert (result.outcome, result.failed, result.says, result.runs) == (outcome, failed, says, len(runs))


HALF = Tolerance(narrowest=NarrowestType(np.dtype(np.float16), "half"))


@pytest.mark.parametrize(("tolerances", "outcome"), [({}, "differs"), ({"y": HALF}, "same")])
def test_an_output_that_is_computed_in_half_is_judged_as_half(tolerances, outcome):
    result = judged([[{"y": np.float32([1, 2.01])}]], EXPECTED[:1], tolerances)
    assert result.outcome == outcome
    assert result.outputs["y"].judged_as == ("float16" if tolerances else "float32")


def test_the_tolerances_of_a_model_are_those_of_its_narrowest_types():
    made = graph_to_def(
        graph("""
        x = Placeholder() {dtype=float32}
        h = Cast(x) {SrcT=float32, DstT=float16}
        s = Square(h) {T=float16}
        y = Cast(s) {SrcT=float16, DstT=float32}
        z = Square(x) {T=float32}
    """)
    )
    model = tfport.load(made.SerializeToString())
    allowed = tolerances(model, way_of(model, None, ("y", "z")))
    assert {name: t.judged_as(np.dtype(np.float32)).name for name, t in allowed.items()} == {
        "y": "float16",
        "z": "float32",
    }


def test_the_largest_difference_of_all_runs_is_kept():
    assert judged([GOOD, CLOSE, GOOD], EXPECTED, {}).outputs["y"].absolute == pytest.approx(1e-5, rel=0.1)


WORDS = [{"y": np.array([b"a"], object)}]


@pytest.mark.parametrize(
    ("runs", "expected", "varies"),
    [
        ([GOOD, GOOD], EXPECTED, 0),
        ([GOOD, CLOSE], EXPECTED, 5e-6),
        ([SEGV, CLOSE, CLOSE], EXPECTED, 0),
        ([BENT, GOOD], EXPECTED, 1),
        ([WORDS, [{"y": np.array([b"b"], object)}]], WORDS, 1),
        ([NO_OP], EXPECTED, 0),
    ],
)
def test_answers_that_vary_between_runs_are_reported(runs, expected, varies):
    assert judged(runs, expected, {}).varies == pytest.approx(varies, rel=0.1)
