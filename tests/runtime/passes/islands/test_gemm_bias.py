"""A bias is part of the Gemm before it, where nothing else reads the product."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

PRODUCT = """
    x = Placeholder() {{dtype=float32, shape=(?, 3)}}
    w = Const() {{dtype=float32, value=float32(2, 3)[1, 2, 3, 4, 5, 6]}}
    bias = Const() {{dtype=float32, value={bias}}}
    p = MatMul(x, w) {{T=float32, transpose_a=false, transpose_b=true}}
    y = AddV2({operands}) {{T=float32}}
    z = Relu(y) {{T=float32}}
"""
ROW = "float32(2)[10, -200]"
X = np.float32([[1, 0, 2], [0, 3, 1]])
W = np.float32([[1, 2, 3], [4, 5, 6]])


def ops(text, fetches=("z:0",)):
    (island,) = islands_of(text, list(fetches), ["x:0"])
    return [node.op_type for node in island.graph.node]


@pytest.mark.parametrize("operands", ["p, bias", "bias, p"])
@pytest.mark.parametrize("bias", [ROW, "float32(1, 2)[10, -200]"])
def test_a_row_is_added_by_the_product(bias, operands):
    text = PRODUCT.format(bias=bias, operands=operands)
    assert ops(text) == ["Gemm", "Relu"]
    np.testing.assert_array_equal(
        session_of(text).run("z:0", {"x:0": X}), np.maximum(X @ W.T + np.float32([10, -200]), 0)
    )


@pytest.mark.parametrize("bias", ["float32(2, 1)[10, -200]", "float32()[10]", "float32(1, 1, 2)[10, -200]"])
def test_other_constants_are_added_on_their_own(bias):
    text = PRODUCT.format(bias=bias, operands="p, bias")
    assert ops(text) == ["Gemm", "Add", "Relu"]


def test_a_product_that_something_else_reads_is_computed_once():
    text = PRODUCT.format(bias=ROW, operands="p, bias")
    assert ops(text, ["z:0", "p:0"]) == ["Gemm", "Add", "Relu"]
    assert ops(text + "\n    q = Mul(p, z) {T=float32}", ["q:0"]) == ["Gemm", "Add", "Relu", "Mul"]
