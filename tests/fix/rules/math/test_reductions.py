"""Reductions over axes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, f64, i32, i64, numbers, u8

from tfport.fix.rules.math.reductions import (
    count_of_smaller,
    quotients_and_remainders,
    root_of_squares,
    with_minus_infinity,
)

NORM = "y = EuclideanNorm(x, a) {T=%s, Tidx=int32, keep_dims=%s}"
MEAN = "y = Mean(x, a) {T=%s, Tidx=int32, keep_dims=%s}"
BOUND = "y = %s(s, v) {T=%s, out_type=%s}"
SORTED = f32([-np.inf, 1, 1, 2], [0, 0, 3, np.inf])
VALUES = f32([1, 2, -5], [-0.0, np.inf, 9])
SUMS = "y = CumulativeLogsumexp(x, a) {T=%s, Tidx=int32, exclusive=%s, reverse=%s}"
CASES = [
    *[rule_case(with_minus_infinity, SUMS % ("float32", exclusive, reverse),
                x=f32([-np.inf, 1, 2], [3, -np.inf, 0]), a=i32(1)[0])
      for exclusive in ("true", "false") for reverse in ("true", "false")],
    rule_case(with_minus_infinity, SUMS % ("float64", "true", "false"), x=f64([1, 2]), a=i32(0)[0]),
    rule_case(with_minus_infinity, SUMS % ("float32", "true", "false"), x=np.zeros((0, 2), np.float32),
              a=i32(0)[0]),
    rule_case(quotients_and_remainders, MEAN % ("int32", "false"), x=i32([-7, 1, 3], [7, 1, 2]), a=i32(1),
              constants=("a",)),
    rule_case(quotients_and_remainders, MEAN % ("int32", "true"), x=i32([-7, 1, 3], [7, 1, 2]), a=i32(0, -1),
              constants=("a",)),
    rule_case(quotients_and_remainders, MEAN % ("int32", "false"), a=i32(0), constants=("a",),
              x=i32([2**31 - 1, -(2**31)], [2**31 - 1, -(2**31)], [2**31 - 3, 5])),
    rule_case(quotients_and_remainders, MEAN % ("int64", "false"), x=i64([-7, 2**63 - 1], [-2, 2]), a=i32(0),
              constants=("a",)),
    rule_case(root_of_squares, NORM % ("float32", "false"), x=numbers(3, 4), a=i32(1)),
    rule_case(root_of_squares, NORM % ("float64", "true"), x=numbers(3, 4, kind=np.float64), a=i32(0, 1)),
    rule_case(root_of_squares, NORM % ("complex64", "false"), x=numbers(3, kind=np.complex64) * (1 + 2j),
              a=i32(0),
              types={"x": "complex64"}),
    rule_case(root_of_squares, NORM % ("float32", "false"), x=numbers(0, 4), a=i32(0), open=("x",)),
    *[rule_case(count_of_smaller, BOUND % (op, "float32", kind), s=SORTED, v=VALUES)
      for op in ("LowerBound", "UpperBound") for kind in ("int32", "int64")],
    rule_case(count_of_smaller, BOUND % ("UpperBound", "float32", "int32"), s=SORTED,
              v=f32([np.nan], [np.nan])),
    rule_case(count_of_smaller, BOUND % ("UpperBound", "float64", "int32"), s=f64([1, 2]), v=f64([1, 2, 3]),
              open=("s", "v")),
    rule_case(count_of_smaller, BOUND % ("UpperBound", "int64", "int32"), s=i64([2**40, 2**40 + 1]),
              v=i64([2**40])),
    rule_case(count_of_smaller, BOUND % ("LowerBound", "uint8", "int64"), s=u8([1, 200]), v=u8([200, 0])),
    rule_case(count_of_smaller, BOUND % ("LowerBound", "float32", "int32"), s=np.zeros((2, 0), np.float32),
              v=VALUES),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses():
    assert_refuses(
        root_of_squares, NORM % ("int32", "false"), because="int32 is rounded", x=i32(1, 2), a=i32(0)
    )


@pytest.mark.parametrize("c", [c for c in CASES if c.rule is not with_minus_infinity], ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, types=c.types, **c.feeds))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(-3, 3), max_size=5), st.lists(st.integers(-4, 4), max_size=4), st.booleans())
def test_any_bound(row, values, upper):
    text = BOUND % ("UpperBound" if upper else "LowerBound", "float32", "int32")
    check(rule_case(count_of_smaller, text, s=f32(sorted(row)), v=f32(values)))
