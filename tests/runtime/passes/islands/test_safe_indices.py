"""Indices that are out of range reach no kernel, and raise a flag."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.passes.rewritten import flagged, rewritten

from tfport.graph.dtypes import FLOAT32, INT64, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.onnx.known_values import index_mask
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.input_flags import safe_indices
from tfport.runtime.passes.pass_list import NodeForms

INT32 = DType.parse("int32")
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
CASES = [
    ("Gather", {}, np.array(2), np.array(3)),
    ("Gather", {}, np.array([[0, 2], [-3, 1]]), np.array([[0, 3], [-3, 1]])),
    ("Gather", {"axis": 1}, np.array([3]), np.array([4])),
    ("Gather", {"axis": -1}, np.array([-4, 3]), np.array([-5])),
    ("GatherElements", {"axis": 1}, np.array([[3], [-4]]), np.array([[3], [4]])),
    ("GatherND", {}, np.array([[2, 3], [-3, -4]]), np.array([[2, 4]])),
    ("GatherND", {}, np.array([[2]]), np.array([[3]])),
    ("GatherND", {"batch_dims": 1}, np.array([[3], [0], [1]]), np.array([[4], [0], [1]])),
    ("ReverseSequence", {"batch_axis": 1, "time_axis": 0}, np.array([0, 1, 2, 3]), np.array([0, 4, 2, 3])),
    ("ReverseSequence", {"batch_axis": 0, "time_axis": 1}, np.array([4, 1, 2]), np.array([4, 1, -1])),
]


def gathered(op, attrs, indices: Operand, *, sizes_known: bool = False, mask: bool = False):
    """The nodes that gather, their table and their output."""
    b = Builder("test")
    table = Operand(FLOAT32, TABLE.shape if sizes_known else (None, None), name="table")
    if mask:
        indices = b.BitwiseAnd(indices, b.const(index_mask(indices.dtype), indices.dtype))
    output = b.nodes(op, table, indices, dtype=FLOAT32, **attrs)[0]
    return b.added, table, output


def run(nodes, inputs, outputs, arrays):
    island = island_model(nodes, inputs, outputs, forms=NodeForms.PLAIN)
    session = ort.InferenceSession(island.model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip([i.name for i in session.get_inputs()], arrays, strict=True)))


@pytest.mark.parametrize("sizes_known", [False, True])
@pytest.mark.parametrize(("op", "attrs", "right", "wrong"), CASES)
def test_indices(op, attrs, right, wrong, sizes_known):
    indices = Operand(
        INT64, (None,) * right.ndim if op != "GatherND" else (None, right.shape[-1]), name="indices"
    )
    nodes, table, output = gathered(op, attrs, indices, sizes_known=sizes_known)
    safe, flag = flagged(safe_indices, nodes)
    (expected,) = run(nodes, [table, indices], [output], [TABLE, right])
    actual, raised = run(safe, [table, indices], [output, flag], [TABLE, right])
    np.testing.assert_array_equal(actual, expected)
    assert not raised
    _, raised = run(safe, [table, indices], [output, flag], [TABLE, wrong])
    assert raised


@pytest.mark.parametrize("index", [-1, -(2**31)])
def test_a_negative_index_whose_sign_was_removed_raises_the_flag(index):
    indices = Operand(INT32, (None,), name="indices")
    nodes, table, output = gathered("Gather", {}, indices, mask=True)
    safe, flag = flagged(safe_indices, nodes)
    _, raised = run(safe, [table, indices], [output, flag], [TABLE, np.array([0, index], np.int32)])
    assert raised
    gather = next(node for node in safe if node.outputs[0] is output)
    maker = next(node for node in safe if node.outputs[0] is gather.inputs[1])
    assert indices in maker.inputs  # the mask, which has no kernel on a GPU, is not read any more


@pytest.mark.parametrize("added", [3, 2])
def test_negative_indices_to_which_the_size_is_added(added):
    b = Builder("test")
    indices = Operand(INT32, (None,), name="indices")
    size, zero = (b.const(number, INT32) for number in (added, 0))
    wrapped = b.Where(b.Less(indices, zero), b.Add(indices, size), indices)
    nodes, table, output = gathered("Gather", {}, wrapped, sizes_known=True, mask=True)
    safe, flag = flagged(safe_indices, [*b.added, *nodes])
    live = rewritten(OnnxGraph.remove_unused, safe, [output, flag])
    assert ("Add" in [node.op for node in live]) is (added != 3)  # the kernel itself counts from the end
    for index in (-4, -3, -2, -1, 0, 2, 3):
        answer, raised = run(live, [table, indices], [output, flag], [TABLE, np.array([index], np.int32)])
        row = index + added if index < 0 else index
        assert bool(raised) is not (0 <= row < 3), index
        if not raised:
            np.testing.assert_array_equal(answer, TABLE[[row]])


def test_constant_indices_are_checked_in_advance_where_sizes_are_known():
    constant = Operand(INT64, value=np.array([0, 2, -3]))
    nodes, _, _ = gathered("Gather", {}, constant, sizes_known=True)
    assert flagged(safe_indices, nodes) == (nodes, None)
    nodes, table, output = gathered("Gather", {}, constant)
    safe, flag = flagged(safe_indices, nodes)
    assert [bool(run(safe, [table], [output, flag], [TABLE[:rows]])[1]) for rows in (3, 2)] == [False, True]


def test_any_of_several_nodes_raises_the_flag():
    b = Builder("test")
    table = Operand(FLOAT32, (3, 4), name="table")
    places = [Operand(INT64, (1,), name=name) for name in "ijk"]
    outputs = [b.Gather(table, place) for place in places]
    safe, flag = flagged(safe_indices, b.added)
    for wrong in range(4):
        arrays = [np.array([3 if i == wrong else 0]) for i in range(3)]
        raised = run(safe, [table, *places], [*outputs, flag], [TABLE, *arrays])[-1]
        assert bool(raised) is (wrong < 3)


def test_sizes_of_shapes_need_no_check():
    b = Builder("test")
    b.Gather(b.Shape(Operand(FLOAT32, (None, None))), b.const(1, INT64), axis=0)
    assert flagged(safe_indices, b.added) == (b.added, None)
