"""Functions of each element."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks
from tests.runtime.cases import f32, i32, numbers

SPECIAL = f32(-3.5, -2.5, -0.5, -0.0, 0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan)
CASES = [
    *(
        case(op, array)
        for op in (
            "ABS", "CEIL", "COS", "EXP", "FLOOR", "LOG", "NEG",
            "ROUND", "RSQRT", "SIN", "SQRT", "SQUARE",
        )
        for array in (SPECIAL, numbers(2, 3, 2, low=0.1, high=5), np.zeros((2, 0, 3), np.float32))
    ),
    case("ABS", i32(-3, 4), version=4),
    case("ABS", np.array([-3, 4, -32768], np.int16)),
    case("NEG", i32(-3, 4)),
    case("NEG", np.array([-3, 2**40])),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_elementwise(c):
    check("elementwise", c)
