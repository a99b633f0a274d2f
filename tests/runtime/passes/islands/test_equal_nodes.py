"""Nodes that compute the same are written once."""

import numpy as np
import pytest
from tests.runtime.programs import islands_of, session_of

from tfport.graph.dtypes import BOOL, FLOAT32, INT64
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import Program, Step


def ops_of(compute, forms=NodeForms.FASTEST):
    """The ops of a graph of `x`, in order."""
    b, x = Builder("test"), Operand(FLOAT32, (2, 4))
    results = compute(b, x)
    made = island_model(b.added, [x], list(results), forms=forms).model
    return [node.op_type for node in made.graph.node]


def roots(b, x):
    return [b.Add(b.Sqrt(x), b.Sqrt(x))]


def test_equal_nodes_are_written_once():
    assert ops_of(roots) == ["Sqrt", "Add"]
    assert ops_of(roots, NodeForms.PLAIN) == ["Sqrt", "Sqrt", "Add"]


def test_what_reads_equal_nodes_is_equal():
    def twice(b, x):
        parts = [b.Transpose(b.Neg(b.Sqrt(x)), perm=[1, 0]) for _ in range(2)]
        return [b.Concat(*parts, axis=0)]

    assert ops_of(twice) == ["Sqrt", "Neg", "Transpose", "Concat"]


def test_small_constants_are_compared_by_value():
    assert ops_of(lambda b, x: [b.Concat(b.squeeze(x, 0), b.squeeze(x, 0), axis=0)]) == ["Squeeze", "Concat"]
    assert ops_of(lambda b, x: [b.Add(b.unsqueeze(x, 0), b.unsqueeze(x, 1))]).count("Unsqueeze") == 2


@pytest.mark.parametrize(
    "attrs",
    [
        ({"perm": [0, 1]}, {"perm": [1, 0]}),
        ({"alpha": 0.0}, {"alpha": -0.0}),
        ({"value": np.zeros(1, np.float32)}, {"value": np.ones(1, np.float32)}),
        ({"axis": 1}, {"axis": 0}),
        ({}, {"axis": 0}),
    ],
)
def test_nodes_with_other_attributes_differ(attrs):
    def two(b, x):
        made = [
            b.nodes("Op", x, dtype=FLOAT32, shape=(2, 4), domain="com.microsoft", **one)[0] for one in attrs
        ]
        return [b.Add(*made)]

    assert ops_of(two) == ["Op", "Op", "Add"]


def test_results_keep_their_nodes():
    def two(b, x):
        return [b.Sqrt(x), b.Sqrt(x)]

    assert ops_of(two) == ["Sqrt", "Sqrt"]


def test_a_loop_reads_the_first_of_equal_nodes():
    b, x = Builder("test"), Operand(FLOAT32, (2,))
    first, second = b.Sqrt(x), b.Sqrt(x)
    inner = Builder("body")
    iteration, before = Operand(INT64, ()), Operand(BOOL, ())
    carried = Operand(FLOAT32, (2,))
    total = inner.Add(carried, second)
    step = Step("add", "Add", (carried, second), (total,), inner.added)
    body = Program([iteration, before, carried], [step], [Operand(BOOL, value=np.array(True)), total])
    trips, true = b.const(3, INT64), Operand(BOOL, value=np.array(True))
    b.nodes("Loop", trips, true, first, dtype=FLOAT32, shape=(2,), body=body)
    (result,) = b.added[-1].outputs
    model = island_model(b.added, [x], [result], forms=NodeForms.FASTEST).model
    root, loop = model.graph.node
    assert (root.op_type, loop.op_type) == ("Sqrt", "Loop")
    (added,) = [node for node in loop.attribute[0].g.node if node.op_type == "Add"]
    assert root.output[0] in added.input


TEXT = """
    x = Placeholder() {dtype=float32, shape=(?, ?)}
    zero = Const() {dtype=int32, value=int32()[0]}
    s = Shape(x) {T=float32, out_type=int32}
    size = Size(x) {T=float32, out_type=int32}
    flat = Reshape(x, lined) {T=float32, Tshape=int32}
    lined = Const() {dtype=int32, value=int32(1)[-1]}
    ones = Fill(s, one) {T=float32, index_type=int32}
    one = Const() {dtype=float32, value=float32()[1.0]}
    zeros = ZerosLike(x) {T=float32}
    y = Sub(ones, zeros) {T=float32}
"""


def test_an_island_has_no_equal_nodes():
    (model,) = islands_of(TEXT, ["y:0"], ["x:0"])
    written = [(n.op_type, *n.input, *(a.SerializeToString() for a in n.attribute)) for n in model.graph.node]
    assert len({*written}) == len(written)
    (y,) = session_of(TEXT).run(["y:0"], {"x:0": np.zeros((2, 3), np.float32)})
    np.testing.assert_array_equal(y, np.ones((2, 3), np.float32))
