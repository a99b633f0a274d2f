"""The difference of two outputs, as the recorded results hold it."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parents[3] / "tools/truth/rewrites"))

from compare import measures, spread

from tfport.fix.certify.compare import compare

INF, NAN = float("inf"), float("nan")
f32 = lambda *numbers: np.array(numbers, np.float32)  # noqa: E731
CASES = [  # actual, expected, dtype, elements, absolute, relative, ulps, how many differ
    (f32(1, 2), f32(1, 2), "float32", 2, 0, 0, 0, 0),
    (f32(1, 2), f32(1, 4), "float32", 2, 2, 0.5, 1 << 23, 1),
    (f32(NAN, 1), f32(1, 1), "float32", 2, INF, INF, 0, 1),
    (f32(1), f32(0), "float32", 1, 1, INF, 0x3F800000, 1),
    (f32(), f32(), "float32", 0, 0, 0, 0, 0),
    (np.array([1, 2, 3]), np.array([1, 5, 4]), "int64", 3, 0, 0, 0, 2),
    (np.array([b"a", b"b"], object), np.array([b"a", b"c"], object), "string", 2, 0, 0, 0, 1),
]


@pytest.mark.parametrize(
    ("actual", "expected", "dtype", "elements", "absolute", "relative", "ulps", "differ"), CASES
)
def test_a_record_has_all_measures(actual, expected, dtype, elements, absolute, relative, ulps, differ):
    assert measures(compare(actual, expected)) == {
        "dtype": dtype,
        "judged_as": dtype,
        "elements": elements,
        "absolute": absolute,
        "relative": relative,
        "ulps": ulps,
        "differ": differ,
    }


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
