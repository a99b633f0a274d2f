import itertools

import numpy as np
import pytest
from tests.runtime.cases import case, check, checks, numbers


def fractional(op, x, ratio, pseudo, overlapping, seed=(7, 3), **more):
    return case(
        op,
        x,
        pooling_ratio=[1.0, *ratio, 1.0],
        pseudo_random=pseudo,
        overlapping=overlapping,
        deterministic=True,
        seed=seed[0],
        seed2=seed[1],
        **more,
    )


CASES = [
    *(
        fractional(op, numbers(2, 10, 13, 2), ratio, pseudo, overlapping)
        for op, ratio, pseudo, overlapping in itertools.product(
            ("FractionalMaxPool", "FractionalAvgPool"), ((1.4, 1.7), (1.0, 2.0)), (False, True), (False, True)
        )
    ),
    fractional("FractionalMaxPool", numbers(1, 30, 31, 1), (1.44, 1.73), False, False, (2**40 + 5, -9)),
    fractional("FractionalMaxPool", numbers(1, 30, 31, 1), (1.44, 1.73), True, False, (0, 4)),
    fractional(
        "FractionalMaxPool", numbers(1, 9, 9, 1, kind=np.int64, low=-50, high=50), (1.5, 1.5), False, True
    ),
    fractional(
        "FractionalAvgPool", numbers(1, 9, 9, 1, kind=np.int32, low=-50, high=50), (1.5, 1.5), False, True
    ),
    fractional("FractionalAvgPool", numbers(1, 9, 9, 1, kind=np.float64), (1.5, 1.5), False, True),
    fractional("FractionalAvgPool", numbers(1, 9, 9, 1), (0.5, 1.5), False, True, fails=True),
    fractional("FractionalAvgPool", numbers(9, 9, 1), (1.5, 1.5), False, True, fails=True),
]


@pytest.mark.parametrize(("c", "ways"), checks(CASES))
def test_fractional_pooling(c, ways):
    check("pooling_fractional", c, ways)
