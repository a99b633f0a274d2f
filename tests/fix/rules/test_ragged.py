"""Ragged ops by the row and the column of each value."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.fix.rules.strings.test_basic import words
from tests.runtime.cases import f32, i32, i64, numbers, scalar

from tfport.fix.rules.ragged import (
    dense_by_places,
    ranges_by_places,
    rows_gathered_by_places,
    sparse_by_places,
)

ROWS = i64(0, 3, 3, 5)
OUTER = i64(0, 2, 2, 3)
SPARSE = "y = RaggedTensorToSparse(a, v) {{RAGGED_RANK=1, T={}, Tsplits=int64}}"
SPARSE2 = "y = RaggedTensorToSparse(a, b, v) {RAGGED_RANK=2, T=float32, Tsplits=int64}"
THREE = ["y:0", "y:1", "y:2"]
FIVE = f32(1, 2, 3, 4, 5)


def dense(kinds, T="float32", Tindex="int64", Tshape="int64"):
    names = [f"p{i}" for i in range(len(kinds))]
    types = ", ".join(f'"{kind}"' for kind in kinds)
    return (f"y = RaggedTensorToTensor(s, v, d, {', '.join(names)}) {{T={T}, Tindex={Tindex}, "
            f"Tshape={Tshape}, num_row_partition_tensors={len(kinds)}, "
            f"row_partition_types=[{types}]}}")  # fmt: skip


SPLITS, IDS = ("ROW_SPLITS",), ("FIRST_DIM_SIZE", "VALUE_ROWIDS")
ZERO = scalar(0, np.float32)
LAST = scalar(-1, np.float32)
RANGE = "y = RaggedRange(s, l, d) {{T={}, Tsplits={}}}"
GATHER = (
    "y = RaggedGather(a, v, i) {PARAMS_RAGGED_RANK=1, OUTPUT_RAGGED_RANK=1, Tvalues=float32, Tindices=int32}"
)
GATHER2 = ("y = RaggedGather(a, b, v, i) "
           "{PARAMS_RAGGED_RANK=2, OUTPUT_RAGGED_RANK=2, Tvalues=string, Tindices=int64}")  # fmt: skip
CASES = [
    rule_case(sparse_by_places, SPARSE.format("float32"), a=ROWS, v=FIVE, fetches=THREE),
    rule_case(sparse_by_places, SPARSE.format("string"), a=ROWS, v=words(*"abcde"), fetches=THREE, open=("a",
              "v")),
    rule_case(sparse_by_places, SPARSE.format("float32"), a=i64(0), v=f32(), fetches=THREE),
    rule_case(sparse_by_places, SPARSE.format("float32").replace("int64", "int32"), a=i32(0, 0, 2), v=f32(1,
              2),
              fetches=THREE),
    rule_case(sparse_by_places, SPARSE2, a=OUTER, b=ROWS, v=FIVE, fetches=THREE),
    *(rule_case(dense_by_places, dense(SPLITS), s=s, v=FIVE, d=LAST, p0=ROWS, constants=constants, open=("v",
              "p0"))
      for s in (scalar(-1, np.int64), i64(-1, -1), i64(-1, 2), i64(2, -1), i64(4, 6), i64(0, 0))
      for constants in ((), ("s",)) if constants or s.ndim),
    rule_case(dense_by_places, dense(SPLITS), s=i64(-1, -1), v=f32(), d=ZERO, p0=i64(0)),
    rule_case(dense_by_places, dense(SPLITS), s=i64(-1, -1), v=f32(), d=ZERO, p0=i64(0, 0, 0)),
    rule_case(dense_by_places, dense(SPLITS, Tindex="int32", Tshape="int32"), s=i32(-1, -1), v=FIVE, d=ZERO,
              p0=i32(0, 1, 5)),
    rule_case(dense_by_places, dense(IDS), s=i64(-1, -1), v=FIVE, d=ZERO, p0=scalar(4, np.int64),
              p1=i64(0, 0, 2, 2, 2)),
    rule_case(dense_by_places, dense((*IDS, "VALUE_ROWIDS")), s=i64(-1, -1, -1), v=FIVE, d=ZERO,
              p0=scalar(3, np.int64), p1=i64(0, 2, 2), p2=i64(0, 0, 1, 2, 2)),
    rule_case(dense_by_places, dense(("ROW_SPLITS",) * 2), s=i64(-1, -1, 2), v=FIVE, d=ZERO, p0=OUTER,
              p1=ROWS),
    rule_case(dense_by_places, dense(SPLITS, "string"), s=i64(-1, -1), v=words(*"abcde"), d=words("-",
              shape=()),
              p0=ROWS),
    rule_case(dense_by_places, dense(SPLITS), s=i64(-1, -1, 2), v=numbers(5, 2), d=ZERO, p0=ROWS, open=("v",
              )),
    rule_case(dense_by_places, dense(SPLITS), s=i64(-1, -1, 2), v=numbers(5, 2), d=f32(7, 8), p0=ROWS),
    rule_case(rows_gathered_by_places, GATHER, a=ROWS, v=FIVE, i=i32(2, 0, 1, 2), fetches=["y:0", "y:1"]),
    rule_case(rows_gathered_by_places, GATHER, a=ROWS, v=FIVE, i=i32(), fetches=["y:0", "y:1"], open=("i",)),
    rule_case(rows_gathered_by_places, GATHER.replace("Tind", "Tsplits=int32, Tind"), a=i32(0, 3, 3, 5),
              v=numbers(5, 2), i=i32(2, 2), fetches=["y:0", "y:1"]),
    rule_case(rows_gathered_by_places, GATHER2, a=OUTER, b=ROWS, v=words(*"abcde"), i=i64(2, 0),
              fetches=THREE),
    rule_case(ranges_by_places, RANGE.format("int32", "int64"), s=i32(0, 5, 3), l=i32(3, 0, 3), d=i32(1, -2,
              1),
              fetches=["y:0", "y:1"]),
    rule_case(ranges_by_places, RANGE.format("int64", "int32"), s=scalar(0, np.int64), l=i64(2, 0, 5),
              d=scalar(2, np.int64), fetches=["y:0", "y:1"], open=("l",)),
    rule_case(ranges_by_places, RANGE.format("int32", "int64"), s=scalar(0, np.int32), l=scalar(4, np.int32),
              d=scalar(3, np.int32), fetches=["y:0", "y:1"]),
    rule_case(ranges_by_places, RANGE.format("int32", "int64"), s=i32(), l=i32(), d=scalar(1, np.int32),
              fetches=["y:0", "y:1"]),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


REFUSED = [
    (sparse_by_places, SPARSE.format("float32"), "its values are not known to be a vector",
     {"a": i64(0, 2), "v": numbers(2, 2)}),
    (ranges_by_places, RANGE.format("float32", "int64"), "rounded each time", {"s": f32(0), "l": f32(1),
         "d": f32(1)}),
    (rows_gathered_by_places, GATHER.replace("OUTPUT_RAGGED_RANK=1", "OUTPUT_RAGGED_RANK=2"),
     "its indices are not known to be a vector", {"a": ROWS, "v": FIVE, "i": np.array([[0]], np.int32)}),
    (dense_by_places, dense(("ROW_LENGTHS",)), "its row partition type is ROW_LENGTHS",
     {"s": i64(-1, -1), "v": FIVE, "d": ZERO, "p0": ROWS}),
    (dense_by_places, dense(SPLITS), "the requested shape is not known",
     {"s": scalar(-1, np.int64), "v": FIVE, "d": ZERO, "p0": ROWS}),
    (dense_by_places, dense(SPLITS), "is not known to match elements",
     {"s": i64(-1, -1, 2), "v": numbers(5, 2), "d": f32(1), "p0": ROWS}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED)
def test_others_stay(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **inputs)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 4), max_size=5), st.integers(-1, 5), st.integers(-1, 5))
def test_rows_of_any_lengths_become_dense(lengths, rows, columns):
    splits = np.cumsum([0, *lengths])
    check(rule_case(dense_by_places, dense(SPLITS), s=i64(rows, columns), v=numbers(int(splits[-1])), d=ZERO,
                    p0=splits, open=("v", "p0")))  # fmt: skip


@pytest.mark.parametrize(
    "c",
    [chain_case(c.text, fetches=c.fetches, open=c.open, constants=c.constants, **c.feeds) for c in CASES],
    ids=str,
)
def test_the_oldest_target_takes_it(c):
    check_chain(c)
