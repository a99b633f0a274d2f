"""The difference of two outputs, as the recorded results count it."""

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.append(str(Path(__file__).parents[3] / "tools/truth/rewrites"))

from compare import Difference, difference, spread, ulps, worst

INF, NAN = float("inf"), float("nan")
TYPES = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("number", [1.0, -1.0, 0.0, 1.5])
def test_one_ulp_is_the_step_to_the_next_number(kind, number):
    here = np.array([number], kind)
    bits = here.view(f"u{here.dtype.itemsize}")
    assert ulps(here, here).tolist() == [0]
    assert ulps(here, (bits + 1).view(kind)).tolist() == [1]


@pytest.mark.parametrize("kind", TYPES)
def test_ulps_count_across_zero_and_both_zeros_as_one(kind):
    tiny = np.array([1], f"u{np.dtype(kind).itemsize}").view(kind)
    assert ulps(tiny, -tiny).tolist() == [2]
    assert ulps(np.zeros(1, kind), -np.zeros(1, kind)).tolist() == [0]


@given(st.floats(width=32, allow_nan=False), st.floats(width=32, allow_nan=False))
def test_ulps_are_the_same_both_ways_and_zero_only_for_equals(a, b):
    x, y = np.array([a], np.float32), np.array([b], np.float32)
    assert ulps(x, y) == ulps(y, x)
    assert (ulps(x, y)[0] == 0) == (a == b)


def test_ulps_of_the_largest_doubles_do_not_overflow():
    most = np.array([np.finfo(np.float64).max])
    assert ulps(most, -most)[0] == pytest.approx(2.0**64, rel=1e-3)


f32 = lambda *numbers: np.array(numbers, np.float32)  # noqa: E731
CASES = [  # actual, expected, measures
    (f32(1, 2), f32(1, 2), Difference("float32", 2)),
    (f32(1, 2), f32(1, 4), Difference("float32", 2, 2.0, 0.5, 1 << 23, 1)),
    (f32(NAN), f32(NAN), Difference("float32", 1)),
    (f32(INF), f32(INF), Difference("float32", 1)),
    (f32(NAN, 1), f32(1, 1), Difference("float32", 2, INF, INF, INF, 1)),
    (f32(1), f32(0), Difference("float32", 1, 1.0, INF, 0x3F800000, 1)),
    (f32(), f32(), Difference("float32", 0)),
    (np.complex64([1 + 1j]), np.complex64([1 + 3j]), Difference("complex64", 1, 2.0, 2 / 3, 3 << 22, 1)),
    (np.array([1, 2, 3]), np.array([1, 5, 4]), Difference("int64", 3, differ=2)),
    (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object), Difference("string", 2, differ=1)),
    (f32(1, 2), f32(1), "shape [2], expected [1]"),
    (f32(1), np.array([1.0]), "float32, expected float64"),
]


@pytest.mark.parametrize(("actual", "expected", "measures"), CASES)
def test_a_difference_has_all_measures(actual, expected, measures):
    assert difference(actual, expected) == measures


@pytest.mark.parametrize(
    ("measured", "within"),
    [
        (Difference("float32", 1, 9.0, 1e-5), True),
        (Difference("float32", 1, 9.0, 1e-3), False),
        (Difference("complex64", 1, 9.0, 1e-3), False),
        (Difference("bfloat16", 1, 9.0, 1e-3), False),
        (Difference("int32", 1), True),
        (Difference("string", 1, differ=1), False),
    ],
)
def test_numbers_may_round_and_nothing_else_may_differ(measured, within):
    assert measured.within(1e-4) is within


def test_the_worst_of_several_inputs_counts():
    measured = worst([Difference("float32", 2, 1.0, 0.1, 7, 1), Difference("float32", 3, 0.5, 0.2, 9, 0)])
    assert measured == Difference("float32", 5, 1.0, 0.2, 9, 1)


@pytest.mark.parametrize(
    ("answers", "far"),
    [
        ([f32(1), f32(1)], 0.0),
        ([f32(1, 2), f32(-2)], 1.5),
        ([f32(0, 0)], 0.0),
        ([f32(1)], None),
        ([f32(INF, INF, 2), f32(NAN, 4)], 1.0),
        ([f32()], None),
        ([np.array([b"a", b"b"], object)], 1.0),
        ([np.array([b"a"], object), np.array([b"a"], object)], 0.0),
        ([np.ones((2, 3)), np.zeros((1, 4))], 0.0),
    ],
)
def test_the_spread_is_what_an_unchanging_answer_would_miss(answers, far):
    assert spread(answers) == far
