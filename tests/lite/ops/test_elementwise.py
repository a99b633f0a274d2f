"""Functions of each element."""

import numpy as np
import pytest
from tests.lite.cases import case, check, checks, out
from tests.runtime.cases import f32, i32, numbers

SPECIAL = f32(-3.5, -2.5, -0.5, -0.0, 0, 0.5, 1.5, 2.5, np.inf, -np.inf, np.nan)
COMPLEX = np.array([3 + 4j, -1j, 0, -2.5 + 0.5j])
CASES = [
    *(
        case(op, array)
        for op in (
            "ABS", "CEIL", "COS", "EXP", "FLOOR", "LOG", "NEG",
            "ROUND", "RSQRT", "SIGN", "SIN", "SQRT", "SQUARE",
        )
        for array in (SPECIAL, numbers(2, 3, 2, low=0.1, high=5), np.zeros((2, 0, 3), np.float32))
    ),
    case("ABS", i32(-3, 4), version=4),
    case("ABS", np.array([-3, 4, -32768], np.int16)),
    case("NEG", i32(-3, 4)),
    case("NEG", np.array([-3, 2**40])),
    case("SIGN", i32(-3, 0, 4)),
    case("SIGN", f32(-3, 0, 4).astype(np.float64)),
    case("LOGICAL_NOT", np.array([True, False])),
    *(
        case(op, COMPLEX.astype(kind), outputs=[out(part)])
        for op in ("REAL", "IMAG", "COMPLEX_ABS")
        for kind, part in (("complex64", "FLOAT32"), ("complex128", "FLOAT64"))
    ),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_elementwise(c):
    check("elementwise", c)
