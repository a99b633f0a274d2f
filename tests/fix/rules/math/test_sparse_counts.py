"""Counts as sparse tensors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import f32, i32, i64, numbers

from tfport.fix.rules.math.sparse_counts import counted_by_number, weighed_by_number


def count(op, inputs, *, index="int32", kind="float32", low=-1, high=-1, binary="false"):
    attrs = f"T={index}, output_type={kind}, minlength={low}, maxlength={high}, binary_output={binary}"
    return f"y = {op}CountSparseOutput({inputs}) {{{attrs}}}"


def dense(**options):
    return count("Dense", "x, w", **options)


ALL = ["y:0", "y:1", "y:2"]
RAGGED, SPARSE = count("Ragged", "s, x, w"), count("Sparse", "i, x, s, w")
NONE, X, ROWS = f32(), i32(7, 1, 3, 1, 7, 7), i32([3, 1, 3], [0, 9, 4])
PLACES = i64([0, 1], [2, 0], [2, 5], [2, 6], [3, 0], [3, 1])


def counted(text, **options):
    return rule_case(counted_by_number, text, fetches=ALL, **options)


def weighed(text, **options):
    return rule_case(weighed_by_number, text, fetches=ALL, **options)


CASES = [
    counted(dense(), x=X, w=NONE),
    counted(dense(), x=X, w=NONE, open=("x",)),
    counted(dense(index="int64", kind="int64", low=20), x=i64(2**40, 1, 2**40), w=i64()),
    counted(dense(high=4, low=9), x=X, w=NONE),
    counted(dense(high=1), x=X, w=NONE),
    counted(dense(kind="int32"), x=X, w=i32(1, 2, 3, 4, 5, 6)),
    counted(dense(binary="true"), x=X, w=NONE),
    counted(dense(kind="float64"), x=ROWS, w=np.zeros(0)),
    counted(dense(binary="true", low=12), x=ROWS, w=NONE, open=("x",)),
    counted(dense(kind="int64", high=4), x=ROWS, w=i64([1, 2, 3], [4, 5, 6])),
    weighed(dense(), x=X, w=numbers(6)),
    weighed(dense(high=5), x=ROWS, w=numbers(2, 3), open=("x",)),
    counted(RAGGED, s=i64(0, 2, 2, 6), x=X, w=NONE),
    counted(RAGGED, s=i64(0, 0, 0, 6, 6), x=X, w=NONE, open=("s", "x")),
    counted(RAGGED, s=i64(0, 0), x=i32(), w=NONE),
    weighed(RAGGED, s=i64(0, 3, 6), x=X, w=numbers(6)),
    counted(SPARSE, i=PLACES, x=X, s=i64(5, 7), w=NONE),
    counted(SPARSE, i=PLACES[:, 1:] + i64([0], [1], [2], [3], [4], [5]), x=X, s=i64(70), w=NONE),
    weighed(SPARSE, i=PLACES, x=X, s=i64(4, 7), w=numbers(6), open=("i", "x")),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_refuses():
    assert_refuses(counted_by_number, dense(), because="float32 weights", x=X, w=numbers(6))
    assert_refuses(weighed_by_number, dense(), because="has 3 axes", x=i32([[1]]), w=NONE)
    assert_refuses(weighed_by_number, dense(), because="known only at run time", x=X, w=NONE, open=("w",))
    fed = {"i": i64([0]), "x": i32(1), "w": NONE}
    assert_refuses(
        weighed_by_number, SPARSE, because="rank of its tensor is unknown", s=i64(7), open=("i", "s"), **fed
    )
    assert_refuses(weighed_by_number, SPARSE, because="has 3 axes", s=i64(7, 7, 7), **fed)


@pytest.mark.parametrize("c", CASES, ids=str)
def test_the_oldest_target_takes_what_is_made(c):
    check_chain(chain_case(c.text, fetches=ALL, open=c.open, **c.feeds))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=6), st.integers(-1, 6), st.integers(-1, 12))
def test_any_numbers(values, high, low):
    check(counted(dense(high=high, low=low), x=np.array(values, np.int32), w=NONE, open=("x",)))
