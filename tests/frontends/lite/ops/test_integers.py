"""Bits and signs."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks
from tests.runtime.cases import f32, f64, i32, numbers

KINDS = (np.int32, np.int8, np.uint8, np.int16, np.uint16, np.uint32)

CASES = [
    case("SIGN", f32(-2.5, -0.0, 0, 7, np.inf)),
    case("SIGN", f64(-2.5, 0, 7)),
    case("SIGN", i32(-3, 0, 9)),
    case("SIGN", f32(np.nan)),
    *(
        case(
            "BITWISE_XOR",
            numbers(2, 3, kind=kind, low=0, high=120),
            numbers(2, 3, kind=kind, low=0, high=120, seed=1),
        )
        for kind in KINDS
    ),
    case("BITWISE_XOR", i32(1, 2).reshape(2, 1), i32(5, 6, 7)),
    *(
        case(
            "RIGHT_SHIFT",
            numbers(2, 3, kind=kind, low=0, high=120),
            numbers(2, 3, kind=kind, low=0, high=7, seed=1),
        )
        for kind in KINDS
    ),
    case("RIGHT_SHIFT", i32(-8, -1, 16), i32(1, 40, -3)),
    case("RIGHT_SHIFT", i32(-8, 9).reshape(2, 1), i32(1, 2, 3)),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_integers(c):
    check("integers", c)
