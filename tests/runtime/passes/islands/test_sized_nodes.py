"""For inputs of certain sizes, what computes sizes becomes constant, and branches the one that is taken."""

import numpy as np
import pytest
from tests.runtime.programs import session_of

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.sized_nodes import sized_nodes

RESIZE = """
    x = Placeholder() {dtype=float32, shape=(1, ?, ?, 2)}
    s = Shape(x) {T=float32, out_type=int32}
    b = Const() {dtype=int32, value=int32(1)[1]}
    e = Const() {dtype=int32, value=int32(1)[3]}
    o = Const() {dtype=int32, value=int32(1)[1]}
    p = StridedSlice(s, b, e, o) {T=int32, Index=int32, begin_mask=0, end_mask=0, ellipsis_mask=0, new_axis_mask=0, shrink_axis_mask=0}
    t = Const() {dtype=int32, value=int32(2)[2, 2]}
    n = Mul(p, t) {T=int32}
    y = %s(x, n) {T=float32, align_corners=false, half_pixel_centers=true}
"""  # noqa: E501


def lowered(program, outputs, inputs):
    """The nodes of a program that is one island, and its operands."""
    made = session_of(program).program(outputs, inputs)
    return [node for step in made.steps for node in step.lowered], made.args, made.results


def answer(nodes, inputs, outputs, arrays):
    model = island_model(nodes, inputs, outputs)
    names = [
        [value.name for value in border] for border in (model.model.graph.input, model.model.graph.output)
    ]
    return OnnxRuntime(1).compile(model.model.SerializeToString(), model.weights, *names)(arrays)


@pytest.mark.parametrize("op", ["ResizeBilinear", "ResizeNearestNeighbor"])
def test_resizing_has_neither_branches_nor_computed_sizes(op):
    nodes, inputs, outputs = lowered(RESIZE % op, ["y:0"], ["x:0"])
    x = np.random.default_rng(0).random((1, 3, 4, 2), np.float32)
    sized = sized_nodes(nodes, outputs, {inputs[0]: x.shape})
    assert {"Shape", "If", "Range"} & {node.op for node in nodes}
    assert not {"Shape", "If", "Range", "Cast", "Div"} & {node.op for node in sized}
    right, other = answer(nodes, inputs, outputs, [x]), answer(sized, inputs, outputs, [x])
    assert np.array_equal(right[0], other[0])


def test_results_have_the_shapes_that_follow():
    b, x = Builder("y"), Operand(FLOAT32, [None, 3])
    y = b.Relu(b.Concat(x, x, axis=0))
    first, last = sized_nodes(b.added, [y], {x: (2, 3)})
    assert first.inputs == (x, x)
    assert first.outputs[0].shape == (4, 3)
    assert last.outputs == (y,)


def test_a_size_that_is_an_output_stays_one():
    b, x = Builder("y"), Operand(FLOAT32, [None, 3])
    y = b.Shape(x)
    (made,) = sized_nodes(b.added, [y], {x: (2, 3)})
    assert made.op == "Identity"
    assert made.inputs[0].array.tolist() == [2, 3]
    assert made.outputs == (y,)


def test_sizes_that_depend_on_elements_are_computed():
    b, x = Builder("y"), Operand(FLOAT32, [None])
    y = b.Shape(b.NonZero(x))
    assert [node.op for node in sized_nodes(b.added, [y], {x: (5,)})] == ["NonZero", "Shape"]


def test_errors_are_left_to_the_run():
    b, x = Builder("y"), Operand(INT64, [None])
    y = b.Div(b.Shape(x), b.ints(0))
    assert [node.op for node in sized_nodes(b.added, [y], {x: (5,)})] == ["Div"]
