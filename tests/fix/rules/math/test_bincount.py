"""Bincount ops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, i64, numbers, scalar

from tfport.fix.rules.math.bincount import counted_by_segment, weighed_by_segment


def bincount(op, inputs, index="int32", kind="float32", binary="false"):
    return f"y = {op}Bincount({inputs}) {{Tidx={index}, T={kind}, binary_output={binary}}}"


def dense(**options):
    return bincount("Dense", "x, n, w", **options)


RAGGED, SPARSE = bincount("Ragged", "s, x, n, w"), bincount("Sparse", "i, x, s, n, w")
NONE, X, N = f32(), i32(1, 3, 1, 9), scalar(5)
ROWS = i32([1, 1, 3], [0, 9, 4])
CASES = [
    rule_case(counted_by_segment, dense(), x=X, n=N, w=NONE),
    rule_case(counted_by_segment, dense(index="int64", kind="int64"), x=i64(1, 2**40, 1), n=np.int64(4),
              w=i64()),
    rule_case(counted_by_segment, dense(kind="int32"), x=X, n=N, w=i32(1, 2, 3, 4)),
    rule_case(counted_by_segment, dense(binary="true"), x=X, n=N, w=NONE),
    rule_case(counted_by_segment, dense(), x=ROWS, n=N, w=NONE),
    rule_case(counted_by_segment, dense(binary="true"), x=ROWS, n=N, w=NONE, open=("x",)),
    rule_case(counted_by_segment, dense(), x=np.zeros((0, 2), np.int32), n=N, w=NONE, open=("x",)),
    rule_case(counted_by_segment, dense(), x=i32(), n=scalar(0), w=NONE),
    rule_case(weighed_by_segment, dense(), x=X, n=N, w=numbers(4)),
    rule_case(weighed_by_segment, dense(), x=ROWS, n=N, w=numbers(2, 3), open=("x",)),
    rule_case(counted_by_segment, RAGGED, s=i64(0, 2, 2, 4), x=X, n=N, w=NONE),
    rule_case(counted_by_segment, RAGGED, s=i64(0, 0, 4), x=X, n=N, w=NONE, open=("s", "x")),
    rule_case(weighed_by_segment, RAGGED, s=i64(0, 3, 4), x=X, n=N, w=numbers(4)),
    rule_case(counted_by_segment, SPARSE, i=i64([0, 1], [2, 0], [2, 5], [2, 6]), x=X, s=i64(3, 7), n=N,
              w=NONE),
    rule_case(counted_by_segment, SPARSE, i=i64([0], [2], [3], [4]), x=X, s=i64(7), n=N, w=NONE),
    rule_case(weighed_by_segment, SPARSE, i=i64([0, 1], [2, 0], [2, 5], [2, 6]), x=X, s=i64(3, 7), n=N,
              w=numbers(4),
              open=("i", "x")),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses():
    assert_refuses(counted_by_segment, dense(), because="float32 weights", x=X, n=N, w=numbers(4))
    assert_refuses(weighed_by_segment, dense(), because="has 0 axes", x=scalar(1), n=N, w=NONE)
    fed = {"i": i64([0]), "x": i32(1), "n": N, "w": NONE}
    assert_refuses(
        weighed_by_segment, SPARSE, because="rank of its tensor is unknown", s=i64(7), open=("i", "s"), **fed
    )
    assert_refuses(weighed_by_segment, SPARSE, because="has 3 axes", s=i64(7, 7, 7), **fed)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, **c.feeds))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 9), max_size=6), st.integers(0, 6), st.booleans(), st.booleans())
def test_any_numbers(values, size, binary, known):
    text = dense(binary=str(binary).lower())
    opened = () if known else ("x",)
    check(
        rule_case(counted_by_segment, text, x=np.array(values, np.int32), n=scalar(size), w=NONE, open=opened)
    )
