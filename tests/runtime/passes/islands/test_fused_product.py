"""Products that cuBLASLt computes with what follows them."""

import numpy as np
import pytest
from tests.runtime.passes.islands.test_attention_bias import (
    LENGTH,
    MASK,
    WIDTH,
    X,
    answers,
    attention,
    numbers,
)
from tests.runtime.passes.rewritten import rewritten

from tfport.errors import Error
from tfport.graph.dtypes import FLOAT32, INT64, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.attention import ATTENTION
from tfport.runtime.passes.islands.attention_bias import added_attention_bias
from tfport.runtime.passes.islands.fused_product import fused_products
from tfport.runtime.program import OnnxNode


def product(b, x, columns=WIDTH, *, rows=WIDTH, bias=True):
    result = b.MatMul(x, b.const(numbers(rows, columns), x.dtype))
    return b.Add(result, b.const(numbers(columns, seed=1), x.dtype)) if bias else result


def shown(products):
    """The ops that each takes the place of."""
    return [" ".join(node.op for node in each.nodes) for each in products]


def test_a_sum_and_a_relu_are_part_of_the_product():
    b = Builder("test")
    output = b.Tanh(b.Relu(product(b, b.Relu(product(b, X, 16)), rows=16)))
    first, second = fused_products(b.added, [output])
    assert shown([first, second]) == ["MatMul Add Relu"] * 2
    assert first.relu
    assert first.x is X
    np.testing.assert_array_equal(first.weights, numbers(WIDTH, 16).T[None])
    np.testing.assert_array_equal(first.bias, numbers(16, seed=1)[None])
    assert first.output_shape((2, 5, WIDTH)) == (2, 5, 16)
    assert second.inputs == first.outputs


def test_without_a_sum_zeros_are_added():
    b = Builder("test")
    (only,) = fused_products(b.added, [product(b, X, bias=False)])
    assert not only.bias.any()
    assert not only.relu


def test_a_sum_before_a_gelu_is_left_to_it():
    b = Builder("test")
    output = b.Gelu(product(b, X), approximate="none")
    assert shown(fused_products(b.added, [output])) == ["MatMul"]


@pytest.mark.parametrize("end", ["product", "sum"])
def test_what_is_read_elsewhere_stays(end):
    b = Builder("test")
    result = b.Relu(product(b, X))
    made, added = (node.outputs[0] for node in b.added[-3:-1])
    outputs = [result, made if end == "product" else added]
    assert shown(fused_products(b.added, outputs)) == ["MatMul" if end == "product" else "MatMul Add"]


@pytest.mark.parametrize(
    "other", [numbers(5, WIDTH), numbers(1), np.float32(2)], ids=["matrix", "one", "scalar"]
)
def test_only_a_number_for_each_column_is_added(other):
    b = Builder("test")
    output = b.Add(product(b, X, bias=False), b.const(other, FLOAT32))
    assert shown(fused_products(b.added, [output])) == ["MatMul"]


@pytest.mark.parametrize(
    ("x", "rows", "columns"),
    [
        (Operand(FLOAT32, (None, WIDTH)), WIDTH, 12),
        (Operand(FLOAT32, (None, 12)), 12, WIDTH),
        (Operand(FLOAT32, (WIDTH,)), WIDTH, WIDTH),
        (Operand(FLOAT32, None), WIDTH, WIDTH),
        (Operand(DType.parse("float64"), (None, WIDTH)), WIDTH, WIDTH),
        (Operand(INT64, (None, WIDTH)), WIDTH, WIDTH),
    ],
    ids=["columns", "rows", "vector", "unknown", "float64", "integers"],
)
def test_other_products_are_left_to_onnx_runtime(x, rows, columns):
    b = Builder("test")
    assert fused_products(b.added, [product(b, x, columns, rows=rows)]) == []


def test_a_matrix_that_is_computed_is_left_to_onnx_runtime():
    b = Builder("test")
    output = b.MatMul(X, b.Tanh(Operand(FLOAT32, (WIDTH, WIDTH))))
    assert fused_products(b.added, [output]) == []


def test_what_is_reshaped_and_reshaped_back_is_read_before():
    x = Operand(FLOAT32, (None, LENGTH, WIDTH))
    for last, same in ((WIDTH, True), (2 * WIDTH, False)):
        b = Builder("test")
        heads, back = Operand(FLOAT32, (None, LENGTH, 2, 4)), Operand(FLOAT32, (None, LENGTH, last))
        b.added.append(OnnxNode("Reshape", (x, b.ints(0, 0, 2, 4)), (heads,), {}))
        b.added.append(OnnxNode("Reshape", (heads, b.ints(0, LENGTH, last)), (back,), {}))
        (only,) = fused_products(b.added, [product(b, back, rows=last)])
        assert (only.x is x) == same


def test_queries_keys_and_values_are_one_product():
    nodes, output = attention()
    *_, last = fused = fused_products(rewritten(added_attention_bias, nodes), [output])
    assert shown(fused) == ["MatMul Add MatMul Add MatMul Add"]  # the last product has three columns
    assert last.weights.shape == (3, WIDTH, WIDTH)
    np.testing.assert_array_equal(last.bias.reshape(-1), numbers(3 * WIDTH, seed=3))
    for matrix, seed in zip(last.weights, range(3), strict=True):
        np.testing.assert_array_equal(matrix, numbers(WIDTH, WIDTH, seed=seed).T)


@pytest.mark.parametrize("mask", [False, True])
def test_sums_before_attention_give_the_same_answers(mask):
    nodes, output = attention(mask=mask)
    added = rewritten(added_attention_bias, nodes)
    (node,) = (node for node in added if node.op == ATTENTION)
    assert node.inputs[3:4] in ((), (None,))
    inputs, arrays = [X], [numbers(2, LENGTH, WIDTH, seed=9)]
    if mask:
        inputs, arrays = [X, MASK], [*arrays, 3 * numbers(1, 1, LENGTH, LENGTH, seed=8)]
    expected = answers(nodes, output, inputs, arrays)
    np.testing.assert_allclose(answers(added, output, inputs, arrays), expected, rtol=1e-5, atol=1e-6)


def test_an_input_of_another_size_is_an_error():
    b = Builder("test")
    (only,) = fused_products(b.added, [product(b, X)])
    with pytest.raises(Error, match="a matrix of 8 rows"):
        only.output_shape((2, 5, WIDTH + 1))
