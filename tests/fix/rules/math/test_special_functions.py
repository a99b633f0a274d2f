"""Special functions by series."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, f64

from tfport.fix.rules.math.special_functions import erfinv_by_series

EDGES = f32(0, -0.0, 1, -1, 0.5, 1e-30, 0.9999999, -0.9999, np.nan, 2)
CASES = [
    rule_case(erfinv_by_series, "y = Erfinv(x) {T=float32}", x=x, rtol=2e-6, **options)
    for x, options in (
        (EDGES, {}),
        (np.linspace(-1, 1, 999, dtype=np.float32), {"open": ("x",)}),
        (np.float32(0.3), {}),
        (np.zeros((0, 2), np.float32), {}),
    )
]


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, rtol=c.rtol, **c.feeds))


def test_other_types_have_more_places():
    assert_refuses(erfinv_by_series, "y = Erfinv(x) {T=float64}", because="not for float64", x=f64(0.5))
