"""Arithmetic of real numbers and integers."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const, out
from tests.runtime.cases import f32, i32, numbers

i64 = lambda *values: np.array(values, np.int64)  # noqa: E731
strings = lambda *values: np.array(values, object)  # noqa: E731
SPECIAL = f32(-3.5, -0.0, 0, 1e-30, 2.5, np.inf, -np.inf, np.nan)
COMPARISONS = ("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
CASES = [
    *(
        case(op, f32(-1.5, 2, 7), f32(3, -4, 0.5), fused_activation_function=activation)
        for op in ("ADD", "SUB", "MUL", "DIV")
        for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
    ),
    case("ADD", numbers(2, 3, 4), numbers(3, 1)),
    case("MUL", numbers(2, 1, 3, 4), const(numbers(5, 1, 4))),
    case("ADD", i32(1, -2), i32(3)),
    case("ADD", i32(7, -9), i32(3, 2), fused_activation_function="RELU6"),
    *(case(op, i64(1, -(2**40)), i64(3, 5)) for op in ("ADD", "SUB", "MUL")),
    case("SUB", numbers(1, 2, 3, 2, 2), numbers(2, 1, 3, 1, 2)),
    case("DIV", numbers(2, 3, 2), numbers(3, 1, low=1)),
    case("DIV", i32(7, -7, 9), i32(2, 2, -4), version=2),
    case("DIV", i32(7, -7, 9), i32(2, 0, -4), fails=True),
    *(
        case(op, a, b)
        for op in ("MAXIMUM", "MINIMUM")
        for a, b in (
            (numbers(2, 3, 4), numbers(4)),
            (i32(1, 5, -3), i32(2)),
            (i64(1, 5, -3), i64(2, 2, -5)),
            (numbers(2, 1, 3), numbers(4, 1)),
        )
    ),
    case("SQUARED_DIFFERENCE", numbers(2, 3), numbers(3)),
    case("SQUARED_DIFFERENCE", i32(1, 5, -3), i32(2)),
    case("POW", numbers(3, 4, low=0.1), numbers(4)),
    case("POW", f32(-2, -2, 0, 0), f32(2, 3, 0, 2)),
    case("POW", i32(2, -3, 5), i32(3, 2, 0)),
    case("POW", i32(2, -3), i32(3, -2), fails=True),
    case("FLOOR_DIV", f32(7, -7, 2.5, -2.5), f32(2, 2, -1, 0.75)),
    case("FLOOR_DIV", i32(7, -7, 9), i32(2), version=2),
    case("FLOOR_DIV", i32(7, -7), i32(2, 0), fails=True),
    case("FLOOR_MOD", f32(7, -7, 2.5, -2.5, 1), f32(2, 2, -1, 0.75, 0)),
    case("FLOOR_MOD", i32(7, -7, 9), i32(-2)),
    case("FLOOR_MOD", i64(7, -7, 9), i64(-2, 3, 4)),
    case("FLOOR_MOD", i32(7, -7), i32(2, 0), fails=True),
    case("ATAN2", f32(1, -1, 0, -0.0, 3), f32(1, -1, -1, -1, 0)),
    case("ATAN2", f32(1, 2).astype(np.float64), f32(1, -3).astype(np.float64)),
    *(
        case(op, a, b, outputs=[out("BOOL")])
        for op in COMPARISONS
        for a, b in (
            (SPECIAL, SPECIAL[::-1].copy()),
            (i32(1, 2, 3), i32(2)),
            (i64(1, 2**40), i64(2**40, 2**40)),
            (numbers(2, 1, 3), numbers(4, 1)),
        )
    ),
    *(case(op, np.array([True, False]), np.array([True]), outputs=[out("BOOL")]) for op in COMPARISONS[:2]),
    *(
        case(op, strings(b"a", b"bc", b""), strings(b"a", b"b", b""), outputs=[out("BOOL")])
        for op in COMPARISONS[:2]
    ),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_arithmetic(c):
    check("arithmetic", c)
