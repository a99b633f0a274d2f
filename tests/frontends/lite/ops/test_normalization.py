"""Normalization."""

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks
from tests.runtime.cases import f32, numbers

CASES = [
    *(
        case("L2_NORMALIZATION", array, options_type="L2NormOptions")
        for array in (numbers(2, 3), numbers(2, 1, 3, 4), np.zeros((1, 3), np.float32))
    ),
    case(
        "L2_NORMALIZATION",
        numbers(2, 3),
        options_type="L2NormOptions",
        fused_activation_function="RELU",
        fails=True,
    ),
    case("L2_NORMALIZATION", f32(1e-8, 2e-8), options_type="L2NormOptions"),
    *(
        case(
            "LOCAL_RESPONSE_NORMALIZATION",
            numbers(2, 3, 2, depth),
            radius=radius,
            bias=bias,
            alpha=4.0,
            beta=0.5,
            optimized=True,  # the reference kernel leaves out the last channel of each window
        )
        for depth, radius, bias in ((6, 2, 1.0), (5, 20, 0.5), (1, 1, 9.0))
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_normalization(c):
    check("normalization", c)
