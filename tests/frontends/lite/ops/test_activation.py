"""Activation functions and softmax."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const
from tests.runtime.cases import f32, numbers

WIDE = f32(-100, -20, -9.5, -4, -3, -1, -0.25, -0.0, 0, 0.25, 1, 2.9, 3, 4, 6.5, 17, 100)
PLAIN = (
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "RELU_0_TO_1",
    "TANH",
    "LOGISTIC",
    "ELU",
    "HARD_SWISH",
    "LOG_SOFTMAX",
)
CASES = [
    *(case(op, array, atol=1e-6) for op in PLAIN for array in (WIDE, numbers(2, 3, 4), numbers(2, 3, 1, 2))),
    *(case(op, np.zeros((0, 3), np.float32)) for op in PLAIN[:-1]),
    *(case("GELU", WIDE, approximate=a, atol=1e-6) for a in (False, True)),
    *(case("LEAKY_RELU", WIDE, alpha=a) for a in (0.2, 0.0, -0.5, 1.5)),
    *(
        case("PRELU", numbers(1, 3, 2, 4), const(slope))
        for slope in (numbers(4), numbers(1, 1, 4), numbers(3, 1, 4), f32(0.25), numbers(1, 3, 2, 4, low=0.1))
    ),
    case("PRELU", numbers(2, 3, 2, 4), numbers(1, 1, 4)),
    *(
        case("SOFTMAX", array, beta=beta)
        for array in (numbers(5), numbers(2, 3), numbers(2, 3, 4), numbers(2, 1, 3, 4), f32(999, 1001, -9))
        for beta in (1.0, 0.5, 2.0)
    ),
    case("SOFTMAX", numbers(2, 3)),
    *(
        case("FAKE_QUANT", WIDE, min=low, max=high, num_bits=bits)
        for low, high, bits in ((-10.0, 10.0, 8), (0.0, 6.0, 8), (-0.3, 1.7, 4))
    ),
    case("FAKE_QUANT", WIDE, min=0.0, max=6.0, num_bits=8, narrow_range=True, fails=True),
    case("LOG_SOFTMAX", f32(1000, 1001, -1000)),
]  # fmt: skip


@pytest.mark.parametrize("c", checks(CASES))
def test_activation(c):
    check("activation", c)
