"""Which nodes compute in 16 bits, and where the casts are."""

import ml_dtypes
import numpy as np
from tests.runtime.passes.rewritten import rewritten

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.islands import precision_rewrites
from tfport.runtime.passes.islands.precision_rewrites import reduced_precision
from tfport.runtime.passes.pass_list import IslandForm, IslandUse

X = Operand(FLOAT32, (None, 4), name="x")


def in_16_bits(nodes, outputs, half="float16", **target):
    return rewritten(reduced_precision, nodes, outputs, form=IslandForm(False, half), **target)


def types_of(nodes):
    """Each node with the type of its first output."""
    return [f"{node.op}:{node.outputs[0].dtype.name}" for node in nodes]


def network() -> tuple[Builder, Operand]:
    b = Builder("test")
    product = b.MatMul(X, b.const(np.ones((4, 4)), FLOAT32))
    activated = b.Relu(b.Add(product, b.const(np.ones(4), FLOAT32)))
    return b, b.Softmax(activated, axis=-1)


def test_products_and_what_follows_them_are_narrow_and_the_rest_is_not():
    b, output = network()
    nodes = in_16_bits(b.added, [output])
    assert types_of(nodes) == [
        "Cast:float16", "MatMul:float16", "Add:float16", "Relu:float16", "Cast:float32", "Softmax:float32",
    ]  # fmt: skip
    weights = nodes[1].inputs[1]
    assert weights.array.dtype == np.float16


def test_nodes_without_a_kernel_stay_in_float32():
    b, output = network()
    nodes = in_16_bits(b.added, [output], has_kernel=lambda node: node.op != "MatMul")
    assert types_of(nodes) == ["MatMul:float32", "Add:float32", "Relu:float32", "Softmax:float32"]


def test_nodes_of_another_library_need_no_kernel(monkeypatch):
    monkeypatch.setattr(precision_rewrites, "is_usual_convolution", lambda node: node.op == "MatMul")
    b, output = network()
    apart = IslandUse.CONVOLUTIONS_APART
    nodes = in_16_bits(b.added, [output], has_kernel=lambda node: node.op != "MatMul", use=apart)
    assert types_of(nodes)[:4] == ["Cast:float16", "MatMul:float16", "Add:float16", "Relu:float16"]


def test_outputs_of_an_island_keep_their_type():
    b = Builder("test")
    output = b.MatMul(X, b.const(np.ones((4, 2)), FLOAT32))
    nodes = in_16_bits(b.added, [output])
    assert nodes[-1].op == "Cast"
    assert nodes[-1].outputs == (output,)


def test_what_follows_no_product_stays_as_it_is():
    b = Builder("test")
    output = b.Relu(b.Add(X, X))
    assert in_16_bits(b.added, [output]) == b.added


def test_constants_beyond_the_range_become_the_largest_number():
    b = Builder("test")
    product = b.MatMul(X, b.const(np.ones((4, 4)), FLOAT32))
    output = b.Add(product, b.const([-1e9, 1e9, -np.inf, np.nan], FLOAT32))
    nodes = in_16_bits(b.added, [output])
    mask = next(node for node in nodes if node.op == "Add").inputs[1].array
    np.testing.assert_array_equal(mask, np.array([-65504, 65504, -np.inf, np.nan], np.float16))
    (bfloat16,) = [
        node.inputs[1].array for node in in_16_bits(b.added, [output], "bfloat16") if node.op == "Add"
    ]
    assert bfloat16.dtype == ml_dtypes.bfloat16
    assert float(bfloat16[0]) == -1e9 or abs(float(bfloat16[0]) + 1e9) < 1e7


def test_indices_and_shapes_keep_their_types():
    b = Builder("test")
    product = b.MatMul(X, b.const(np.ones((4, 4)), FLOAT32))
    rows = b.Gather(product, b.ints(0), axis=1)
    output = b.Reshape(rows, b.ints(-1))
    nodes = in_16_bits(b.added, [output])
    assert types_of(nodes)[-3:] == ["Gather:float16", "Reshape:float16", "Cast:float32"]
    assert nodes[-2].inputs[1].dtype.name == "int64"
