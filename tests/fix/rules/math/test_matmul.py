"""Matrix products with older ops."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fix.chains import chain_case, check_chain
from tests.fix.rule_cases import assert_refuses, check, rule_case
from tests.runtime.cases import i8, numbers

from tfport.fix.rules.math.matmul import (
    as_batch_matmul_v2,
    as_matmul,
    broadcast_outright,
    in_the_type_of_the_product,
    sum_of_products,
    with_one_type,
)

V2 = "y = BatchMatMulV2(a, b) {T=float32}"
MIXED = "y = BatchMatMulV3(a, b) {Ta=%s, Tb=int8, Tout=int32}"
CASES = [
    rule_case(with_one_type, "y = BatchMatMulV3(a, b) {Ta=float32, Tb=float32, Tout=float32, adj_y=true}",
              a=numbers(2, 3, 4), b=numbers(2, 5, 4)),
    rule_case(in_the_type_of_the_product, MIXED % "int8", a=i8([[100, -128]]), b=i8([[[127], [-128]]])),
    rule_case(in_the_type_of_the_product, MIXED % "uint8", a=np.full((2, 2), 255, np.uint8),
              b=i8([-128, 1], [3, 4])),
    rule_case(broadcast_outright, V2, a=numbers(2, 3, 4), b=numbers(2, 4, 5)),
    rule_case(broadcast_outright, V2, a=numbers(2, 3, 4), b=numbers(4, 5)),
    rule_case(broadcast_outright, V2, a=numbers(2, 3, 4), b=numbers(4, 5), open=("a",)),
    rule_case(broadcast_outright, V2, a=numbers(1, 3, 4), b=numbers(2, 4, 5), open=("b",)),
    rule_case(broadcast_outright, V2, a=numbers(2, 1, 3, 4), b=numbers(3, 4, 5), open=("a", "b")),
    rule_case(broadcast_outright, V2, a=numbers(0, 3, 4), b=numbers(4, 5), open=("a",)),
    rule_case(broadcast_outright, "r = Reshape(a, s) {T=float32}\ny = BatchMatMulV2(r, b) {T=float32}",
              a=numbers(24), s=np.array([2, 3, 4], np.int32), b=numbers(4, 5), open=("s",)),
    rule_case(broadcast_outright, "y = BatchMatMulV2(a, b) {T=float16, adj_x=true}",
              a=numbers(4, 3, kind=np.float16), b=numbers(2, 4, 5, kind=np.float16), rtol=1e-2, atol=1e-2),
    rule_case(as_batch_matmul_v2, "y = BatchMatMul(a, b) {T=float32, adj_x=true}",
              a=numbers(2, 4, 3), b=numbers(2, 4, 5)),
    rule_case(as_matmul, "y = BatchMatMulV2(a, b) {T=complex64, adj_x=true}",
              a=numbers(4, 3, kind=np.complex64) * (1 + 1j), b=numbers(4, 5, kind=np.complex64) * (1 - 2j),
              types={"a": "complex64", "b": "complex64"}),
    *[rule_case(sum_of_products, f"y = BatchMatMulV2(a, b) {{T=int64, adj_x={x}, adj_y={y}}}",
                a=numbers(*a, kind=np.int64, high=2**20), b=numbers(*b, kind=np.int64, high=9))
      for x, y, a, b in (("false", "false", (2, 3, 4), (4, 5)), ("true", "false", (4, 3), (2, 4, 5)),
                         ("false", "true", (1, 3, 4), (2, 5, 4)), ("false", "false", (3, 0), (0, 5)))],
    rule_case(sum_of_products, "y = MatMul(a, b) {T=int32, transpose_b=true}",
              a=numbers(3, 4, kind=np.int32, high=2**14), b=numbers(5, 4, kind=np.int32, high=2**14)),
]  # fmt: skip


@pytest.mark.parametrize("c", CASES, ids=str)
def test_answers_stay(c):
    check(c)


def test_different_types_stay():
    assert_refuses(
        with_one_type,
        "y = BatchMatMulV3(a, b) {Ta=int8, Tb=int8, Tout=int32}",
        because="different dtypes",
        a=np.ones((2, 2), np.int8),
        b=np.ones((2, 2), np.int8),
    )


def test_only_integers_may_be_added_in_any_order():
    assert_refuses(sum_of_products, V2, because="float32 products", a=numbers(2, 2), b=numbers(2, 2))
    both = "y = MatMul(a, b) {T=int32, transpose_a=true, transpose_b=true}"
    matrix = np.ones((2, 2), np.int32)
    assert_refuses(sum_of_products, both, because="both factors are transposed", a=matrix, b=matrix)


def test_a_matrix_is_known_to_be_one():
    assert_refuses(as_matmul, V2, because="known to be matrices", a=numbers(1, 2, 2), b=numbers(2, 2))


def test_mixed_types_are_integers():
    text = "y = BatchMatMulV3(a, b) {Ta=bfloat16, Tb=bfloat16, Tout=float32}"
    inputs = {"a": numbers(2, 2), "b": numbers(2, 2), "types": {"a": "bfloat16", "b": "bfloat16"}}
    assert_refuses(in_the_type_of_the_product, text, because="not integers", **inputs)


@pytest.mark.parametrize("c", [c for c in CASES if c.rule is not as_batch_matmul_v2], ids=str)
def test_a_target_without_it_takes_what_is_made(c):
    check_chain(chain_case(c.text, open=c.open, types=c.types, rtol=c.rtol, atol=c.atol, **c.feeds))


@settings(deadline=None, max_examples=25)
@given(st.lists(st.integers(1, 3), max_size=2), st.booleans(), st.booleans(), st.booleans(), st.data())
def test_any_batches(batch, adj_x, adj_y, known, data):
    def narrower():
        return [data.draw(st.sampled_from((1, s))) for s in batch[data.draw(st.integers(0, len(batch))) :]]

    a, b = (
        numbers(*narrower(), *((4, 3) if adj_x else (3, 4))),
        numbers(*narrower(), *((2, 4) if adj_y else (4, 2))),
    )
    text = f"y = BatchMatMulV2(a, b) {{T=float32, adj_x={str(adj_x).lower()}, adj_y={str(adj_y).lower()}}}"
    check(rule_case(broadcast_outright, text, a=a, b=b, open=() if known else ("a", "b")))
