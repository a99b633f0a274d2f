"""Bucketize and histograms by older ops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, f64, i32, i64

from tfport.fix.rules.math.bincount import boundaries_below, boundaries_not_above, counted_by_width

EDGES = "boundaries=[0.0, 0.1, 5.0]"
ODD = f32(np.nan, -1, -0.0, 0, 0.1, 5, np.inf, -np.inf)
TREES = "y = BoostedTreesBucketize({}) {{num_features={}}}"
HISTOGRAM = "y = HistogramFixedWidth(x, r, n) {T=%s, dtype=%s}"
OLD = {"answers": "tfport"}  # no release after 2.8 has a kernel
CASES = [
    rule_case(boundaries_not_above, f"y = Bucketize(x) {{T=float32, {EDGES}}}", x=ODD, open=("x",)),
    rule_case(boundaries_not_above, f"y = Bucketize(x) {{T=float64, {EDGES}}}", x=f64([0.1, 0.10000000149])),
    rule_case(boundaries_not_above, f"y = Bucketize(x) {{T=int32, {EDGES}}}", x=i32(-1, 0, 5, 6)),
    rule_case(boundaries_not_above, "y = Bucketize(x) {T=int32, boundaries=[16777216.0, 2147483648.0]}",
              x=i32(16777217, 2147483647, 16777215)),
    rule_case(boundaries_not_above, f"y = Bucketize(x) {{T=int64, {EDGES}}}", x=np.zeros((2, 0, 3),
              np.int64)),
    rule_case(boundaries_below, TREES.format("x, b", 1), x=f32(-1, 0, 1, 1.5, 2, 9), b=f32(0, 1, 2), **OLD),
    rule_case(boundaries_below, TREES.format("x, z, b, c", 2), x=f32(-1, 5), z=f32(0, 1, 2), b=f32(3),
              c=f32(0.5, 1.5), fetches=["y:0", "y:1"], open=("x", "z", "b"), **OLD),
    rule_case(counted_by_width, HISTOGRAM % ("float32", "int32"), x=f32([-9, 0, 0.1], [0.3, 0.7, 99]),
              r=f32(0, 0.7), n=i32(7)[0]),
    rule_case(counted_by_width, HISTOGRAM % ("float64", "int64"), x=np.linspace(-1, 1, 101), r=f64(-0.5, 0.3),
              n=i32(9)[0], open=("x",)),
    rule_case(counted_by_width, HISTOGRAM % ("int32", "int32"), x=i32(*range(-5, 30)), r=i32(0, 20),
              n=i32(3)[0]),
    rule_case(counted_by_width, HISTOGRAM % ("float32", "int32"), x=f32(), r=f32(0, 1), n=i32(2)[0]),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize("target", ["tensorflow==1.4.1", "tensorflow==2.21.0"])
def test_the_oldest_and_the_newest_target_take_it(target):
    c = next(c for c in reversed(CASES) if c.rule is boundaries_below)
    assert check_chain(chain_case(c.text, fetches=c.fetches, **c.feeds), target) == ["boundaries_below"]


def test_no_boundaries_stay():
    assert_refuses(
        boundaries_not_above, "y = Bucketize(x) {T=int64, boundaries=[]}", because="0 boundaries", x=i64(1)
    )


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5),
    st.lists(st.floats(width=32), max_size=5),
)
def test_any_numbers(edges, values):
    finite = sorted(float(edge) for edge in edges if np.isfinite(edge))
    text = f"y = Bucketize(x) {{T=float32, boundaries={finite or [0.0]}}}"
    check(rule_case(boundaries_not_above, text, x=f32(*values)))
