"""Reductions."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, q
from tests.runtime.cases import f32, i8, i32, numbers, scalar

OPS = ("SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN")
FLAGS = np.array([[True, False, True], [True, True, True]])
REAL = {"options_type": "ReducerOptions"}

CASES = [
    *(
        case(op, numbers(2, 3, 4), const(axes), keep_dims=keep, **REAL)
        for op in OPS
        for keep in (False, True)
        for axes in (i32(1), i32(0, 2), i32(-1), i32(0, 1, 2))
    ),
    *(
        case(op, numbers(2, 3, 4, kind=kind, low=-9, high=9), const(i32(1)), **REAL)
        for op in OPS
        for kind in (np.int32, np.int64)
    ),
    *(
        case(op, numbers(2, 3, 4, kind=kind, low=0, high=9), const(i32(1, 2)), **REAL)
        for op in ("REDUCE_MAX", "REDUCE_MIN")
        for kind in (np.int8, np.uint8, np.int16)
    ),
    *(case(op, numbers(2, 3), const(i32(1, 1, -1)), **REAL) for op in OPS),
    *(case(op, numbers(2, 3), const(scalar(1)), **REAL) for op in OPS),
    *(case(op, numbers(2, 3), i32(0), **REAL) for op in OPS),
    *(case(op, numbers(2, 0), const(i32(1)), **REAL) for op in OPS[:3]),
    *(case(op, f32(3)[()], const(i32(0)), **REAL) for op in OPS),
    *(case(op, numbers(2, 3), const(np.zeros(0, np.int32)), **REAL) for op in OPS),
    *(case(op, q(i8(1, -7, 3), 0.5, 2), const(i32(0)), **REAL) for op in ("REDUCE_MAX", "REDUCE_MIN")),
    *(
        case(op, FLAGS, const(i32(axis)), keep_dims=axis == 1, **REAL)
        for op in ("REDUCE_ANY", "REDUCE_ALL")
        for axis in (0, 1)
    ),
    case("REDUCE_ALL", FLAGS, const(i32(0, 1)), **REAL),
    case("SUM", numbers(2, 3), const(i32(2)), **REAL, fails=True),
    case("SUM", i32(2147483647, 1), const(i32(0)), **REAL),
    case("MEAN", i32(-3, 0), const(i32(0)), **REAL),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_reductions(c):
    check("reductions", c)
