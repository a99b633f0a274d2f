"""Sparse segments and sparse tensors with older ops."""

import numpy as np
import pytest
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.fix.rules.strings.test_basic import words
from tests.runtime.cases import boolean, f32, i32, i64, numbers, scalar

from tfport.fix.rules.sparse import (
    gathered_by_number,
    gradients_added_by_row,
    indices_of_64_bits,
    rows_of_zeros_behind,
    segment_ids_of_32_bits,
)

KINDS = ("Sum", "Mean", "SqrtN")
SEGMENT = "y = SparseSegment{}(x, i, s) {{T={}, Tidx={}, Tsegmentids={}}}"
NUMBERED = "y = SparseSegment{}WithNumSegments(x, i, s, c) {{T={}, Tidx={}, Tsegmentids={}, Tnumsegments={}}}"
ROWS = numbers(6, 3)
DENSE = "y = SparseToDense(i, s, v, d) {{T={}, Tindices=int64, validate_indices={}}}"
PRODUCT = "y = SparseTensorDenseMatMul(i, v, s, b) {{T=float32, Tindices=int32, adjoint_a={}, adjoint_b={}}}"
PLACES = np.array([[0, 1], [1, 0], [1, 2]], np.int64)
CASES = [
    *(rule_case(segment_ids_of_32_bits, SEGMENT.format(kind, "float32", "int64", "int64"), x=ROWS,
                i=i64(0, 5, 2, 2), s=i64(0, 0, 1, 3), open=("i", "s")) for kind in KINDS),
    rule_case(segment_ids_of_32_bits, SEGMENT.format("Sum", "int32", "int32", "int64"), x=i32(1, 2, 3),
              i=i32(0, 1, 2), s=i64(0, 0, 1)),
    rule_case(segment_ids_of_32_bits, NUMBERED.format("Sum", "float32", "int32", "int64", "int32"), x=ROWS,
              i=i32(0, 1), s=i64(0, 1), c=scalar(4, np.int32)),
    *(rule_case(rows_of_zeros_behind, NUMBERED.format(kind, "float32", "int32", "int32", number), x=ROWS,
                i=i32(0, 5, 2, 2), s=i32(0, 0, 1, 3), c=scalar(count, np.dtype(number)), open=("x", "i", "s"))
      for kind in KINDS for number, count in (("int32", 4), ("int64", 7))),
    rule_case(rows_of_zeros_behind, NUMBERED.format("Sum", "float32", "int32", "int32", "int32"), x=ROWS,
              i=i32(), s=i32(), c=scalar(2, np.int32)),
    rule_case(rows_of_zeros_behind, NUMBERED.format("Mean", "float64", "int32", "int32", "int32"),
              x=numbers(3, kind=np.float64), i=i32(1), s=i32(0), c=scalar(1, np.int32)),
    rule_case(gradients_added_by_row,
              "y = SparseSegmentSumGrad(x, i, s, c) {T=float32, Tidx=int32, Tsegmentids=int32}",
              x=numbers(2, 3), i=i32(0, 5, 0), s=i32(0, 0, 1), c=scalar(7, np.int32)),
    rule_case(gathered_by_number, DENSE.format("string", "true"), i=PLACES, s=i64(3, 3), v=words(*"abc"),
              d=words("-", shape=())),
    rule_case(gathered_by_number, DENSE.format("complex64", "false"), i=PLACES, s=i64(2, 3),
              v=np.array([1j, 2, 3 + 1j], np.complex64), d=scalar(0, np.complex64),
              types={"v": "complex64", "d": "complex64"}),
    rule_case(gathered_by_number, DENSE.format("bool", "true"), i=i64(0, 2), s=i64(4), v=boolean(True, True),
              d=scalar(False, bool), open=("i", "v")),
    *(rule_case(indices_of_64_bits, PRODUCT.format(a, b), i=PLACES[:,
              ::-1 if a == "true" else 1].astype(np.int32),
                v=f32(1, 2, 3), s=i64(3, 3), b=numbers(3, 3)) for a in ("true", "false") for b in ("true",
                     "false")),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


@pytest.mark.parametrize(
    "c",
    [
        chain_case(c.text, types=c.types, open=c.open, **c.feeds)
        for c in CASES
        if c.rule is not indices_of_64_bits
    ],
    ids=str,
)
def test_the_oldest_target_takes_it(c):
    check_chain(c)


@pytest.mark.parametrize("c", CASES[-4:], ids=str)
def test_the_first_release_multiplies(c):
    check_chain(chain_case(c.text, **c.feeds), "tensorflow==1.1.0")


REFUSED = [
    (segment_ids_of_32_bits, SEGMENT.format("Sum", "float32", "int32", "int32"), "int32 already",
     {"x": ROWS, "i": i32(0), "s": i32(0)}),
    (gathered_by_number, DENSE.format("int32", "true"), "integers already",
     {"i": PLACES, "s": i64(2, 3), "v": i32(1, 2, 3), "d": scalar(0)}),
    (gathered_by_number, DENSE.format("float32", "true"), "not known to be a vector",
     {"i": PLACES, "s": i64(2, 3), "v": scalar(1, np.float32), "d": scalar(0, np.float32)}),
    (indices_of_64_bits, PRODUCT.format("false", "false").replace("Tindices=int32", "Tindices=int64"),
     "int64 already", {"i": PLACES, "v": f32(1, 2, 3), "s": i64(2, 3), "b": numbers(3, 1)}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "text", "because", "inputs"), REFUSED)
def test_others_stay(rule, text, because, inputs):
    assert_refuses(rule, text, because=because, **inputs)
