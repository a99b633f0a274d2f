"""Pooling."""

from functools import partial

import pytest
from tests.frontends.lite.cases import case, check, checks
from tests.runtime.cases import numbers

pool = partial(case, options_type="Pool2DOptions", filter_width=2, filter_height=3, stride_w=2, stride_h=1)
X = numbers(2, 5, 7, 3)
CASES = [
    *(
        pool(op, X, padding=padding, fused_activation_function=activation)
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
        for padding in ("SAME", "VALID")
        for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
    ),
    *(
        pool(op, numbers(1, 6, 6, 2), filter_width=1, filter_height=1, stride_w=3, stride_h=2, padding="SAME")
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
    ),
    *(
        pool(op, numbers(1, 3, 3, 1), filter_width=5, filter_height=5, stride_w=2, stride_h=2, padding="SAME")
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
    ),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_pooling(c):
    check("pooling", c)
