"""Matrix products."""

from functools import partial

import numpy as np
import pytest
from tests.frontends.lite.cases import case, check, checks, const
from tests.runtime.cases import numbers

dense = partial(case, "FULLY_CONNECTED", options_type="FullyConnectedOptions")
matmul = partial(case, "BATCH_MATMUL", options_type="BatchMatMulOptions")
CASES = [
    *(
        dense(numbers(3, 4), const(numbers(5, 4)), const(numbers(5)), fused_activation_function=activation)
        for activation in ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
    ),
    dense(numbers(3, 4), const(numbers(5, 4)), None),
    dense(numbers(3, 4), const(numbers(5, 4))),
    dense(numbers(3, 4), numbers(5, 4), numbers(5)),
    dense(numbers(2, 3, 4), const(numbers(5, 4)), const(numbers(5))),
    dense(numbers(2, 3, 4), const(numbers(5, 4)), const(numbers(5)), keep_num_dims=True, version=5),
    dense(
        numbers(2, 1, 3, 4), const(numbers(5, 4)), None, keep_num_dims=True, fused_activation_function="RELU"
    ),
    dense(numbers(2, 6), const(numbers(5, 4)), const(numbers(5))),
    *(
        dense(numbers(3, 4), const(numbers(5, 4)), const(numbers(*shape)))
        for shape in ((1, 5), (5, 1), (1, 1, 5))
    ),
    dense(numbers(3, 4), const(numbers(1, 4)), const(numbers())),
    dense(numbers(3, 4), const(numbers(5, 4)), numbers(1, 5)),
    dense(numbers(3, 4), const(numbers(5, 4)), const(numbers(1, 4)), fails=True),
    dense(numbers(2, 2, 3), const(numbers(1, 6))),
    dense(numbers(4), const(numbers(5, 4))),
    dense(np.zeros((0, 4), np.float32), const(numbers(5, 4))),
    *(
        matmul(x, y, adj_x=adj_x, adj_y=adj_y)
        for x, y, adj_x, adj_y in (
            (numbers(2, 3), numbers(3, 4), False, False),
            (numbers(2, 3, 4), numbers(2, 4, 5), False, False),
            (numbers(2, 4, 3), numbers(2, 4, 5), True, False),
            (numbers(2, 3, 4), numbers(2, 5, 4), False, True),
            (numbers(2, 4, 3), numbers(2, 5, 4), True, True),
            (numbers(2, 1, 3, 4), numbers(5, 4, 2), False, False),
            (numbers(3, 4), numbers(2, 4, 5), False, False),
            (numbers(2, 3, 4), const(numbers(4, 5)), False, False),
            (numbers(1, 2, 2, 3, 4), numbers(2, 1, 4, 5), False, False),
        )
    ),
    matmul(numbers(2, 3, 4), numbers(2, 3, 5), fails=True),
]


@pytest.mark.parametrize("c", checks(CASES))
def test_dense(c):
    check("dense", c)
