"""Arithmetic of real numbers and integers."""

import pytest
from tests.lite.cases import case, check, checks, const
from tests.runtime.cases import f32, i32, numbers

CASES = [
    *(
        case(op, f32(-1.5, 2, 7), f32(3, -4, 0.5), fused_activation_function=activation)
        for op in ("ADD", "SUB", "MUL")
        for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
    ),
    case("ADD", numbers(2, 3, 4), numbers(3, 1)),
    case("MUL", numbers(2, 1, 3, 4), const(numbers(5, 1, 4))),
    case("ADD", i32(1, -2), i32(3)),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_arithmetic(c):
    check("arithmetic", c)
