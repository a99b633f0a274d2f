"""Islands cut into models and convolutions."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.model import CONTRIB
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands.attention import ATTENTION
from tfport.runtime.passes.islands.fused_convolution import FusedConvolution
from tfport.runtime.passes.islands.fused_product import FusedProduct
from tfport.runtime.passes.islands.island_parts import ModelPart, parts_with_convolutions, parts_with_products
from tfport.runtime.program import ONNX_TYPES, OnnxNode

X = Operand(FLOAT32, (None, 8, 6, 6), name="x")


def conv(b, x):
    return b.Conv(x, b.const(np.ones((8, 8, 3, 3)), FLOAT32), kernel_shape=[3, 3], pads=[1] * 4)


def shown(island):
    """The ops of each model, and `conv` or `product` for an operation."""
    names = {FusedConvolution: "conv", FusedProduct: "product"}
    return [
        [node.op_type for node in part.model.model.graph.node]
        if isinstance(part, ModelPart)
        else names[type(part)]
        for part in island.parts
    ]


def test_convolutions_one_after_another_are_not_taken_apart():
    b = Builder("test")
    output = b.Tanh(b.Relu(conv(b, b.Relu(conv(b, X)))))
    island = parts_with_convolutions(b.added, [X], [output])
    assert shown(island) == [["Transpose"], "conv", "conv", ["Transpose", "Tanh"]]
    assert island.models == 2
    assert island.pays
    first, second = island.parts[1:3]
    assert isinstance(first, FusedConvolution)
    assert isinstance(second, FusedConvolution)
    assert second.x is first.output
    assert first.output.shape == (None, 6, 6, 8)


def test_nodes_that_need_nothing_of_a_convolution_run_with_the_first_model():
    b = Builder("test")
    output = b.Add(b.Tanh(X), b.Sigmoid(conv(b, X)))
    island = parts_with_convolutions(b.added, [X], [output])
    assert shown(island) == [["Tanh", "Transpose"], "conv", ["Transpose", "Sigmoid", "Add"]]
    assert not island.pays  # cuDNN computes nothing besides the convolution


def test_an_output_of_a_convolution_has_its_channels_first():
    b = Builder("test")
    output = b.Relu(conv(b, X))
    island = parts_with_convolutions(b.added, [X], [output])
    assert shown(island) == [["Transpose"], "conv", ["Transpose"]]
    assert island.parts[-1].outputs == (output,)


@pytest.mark.parametrize(
    ("dtype", "before"),
    [("float16", ["Pad", "Transpose"]), ("bfloat16", ["Cast", "Pad", "Cast", "Transpose"])],
)
def test_three_channels_become_four(dtype, before):
    b, kind = Builder("test"), DType.parse(dtype)
    x = Operand(kind, (None, 3, 6, 6), name="x")
    output = b.Relu(b.Conv(x, b.const(np.ones((8, 3, 3, 3)), kind), kernel_shape=[3, 3], pads=[1] * 4))
    island = parts_with_convolutions(b.added, [x], [output])
    assert shown(island) == [before, "conv", ["Transpose"]]
    first, conv, _ = island.parts
    assert conv.x.dtype == kind
    assert [info.type.tensor_type.elem_type for info in first.model.model.graph.output] == [ONNX_TYPES[dtype]]


def test_without_convolutions_there_is_one_part():
    b = Builder("test")
    island = parts_with_convolutions(b.added, [X], [b.Tanh(X)])
    assert shown(parts_with_convolutions(b.added, [X], [b.added[-1].outputs[0]])) == [["Tanh"]]
    assert not island.pays


def test_convolutions_with_other_nodes_between_them_are_left_to_onnx_runtime():
    b = Builder("test")
    x = X
    for _ in range(6):
        x = b.Tanh(b.Relu(conv(b, x)))
    island = parts_with_convolutions(b.added, [X], [x])
    assert shown(island).count("conv") == 6
    assert island.models == 7
    assert not island.pays


def test_products_are_cut_out_and_pay_if_there_are_several():
    x = Operand(FLOAT32, (None, 8), name="x")
    for count in (3, 4):
        b = Builder("test")
        output = x
        for _ in range(count):
            output = b.Tanh(b.Relu(b.MatMul(output, b.const(np.ones((8, 8)), FLOAT32))))
        island = parts_with_products(b.added, [x], [output])
        assert shown(island) == ["product", ["Tanh"]] * count
        assert island.pays == (count == 4)
        assert island.parts[0].inputs == (x,)


def test_a_product_with_several_results_runs_before_the_first_that_reads_one():
    """Queries are read before the values are multiplied."""
    x = Operand(FLOAT32, (None, 5, 8), name="x")
    b = Builder("test")

    def product():
        made = Operand(FLOAT32, (None, 5, 8))
        b.added.append(OnnxNode("MatMul", (x, b.const(np.ones((8, 8)), FLOAT32)), (made,), {}))
        return made

    queries = product()
    read = b.Tanh(queries)
    joined = Operand(FLOAT32, (None, 5, 8))
    inputs = (queries, product(), product())
    b.added.append(OnnxNode(ATTENTION, inputs, (joined,), {"num_heads": 2}, CONTRIB))
    island = parts_with_products(b.added, [x], [joined, read])
    assert shown(island) == ["product", ["Tanh", ATTENTION]]
    assert island.parts[0].outputs == inputs


def test_what_nothing_reads_any_more_is_left_out():
    """The second product reads the result of the first one before it is reshaped and reshaped back."""
    x = Operand(FLOAT32, (None, 5, 8), name="x")
    b = Builder("test")
    shapes = (None, 5, 8), (None, 5, 2, 4), (None, 5, 8), (None, 5, 8)
    made = tuple(Operand(FLOAT32, shape) for shape in shapes)
    matrix = b.const(np.ones((8, 8)), FLOAT32)
    b.added += [
        OnnxNode("MatMul", (x, matrix), made[:1], {}),
        OnnxNode("Reshape", (made[0], b.ints(0, 0, 2, 4)), made[1:2], {}),
        OnnxNode("Reshape", (made[1], b.ints(0, 0, 8)), made[2:3], {}),
        OnnxNode("MatMul", (made[2], matrix), made[3:], {}),
    ]
    island = parts_with_products(b.added, [x], made[3:])
    assert shown(island) == ["product", "product"]
    assert island.parts[1].inputs == island.parts[0].outputs
