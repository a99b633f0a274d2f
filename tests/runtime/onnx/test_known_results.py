"""Nodes on constants are computed as ONNX Runtime computes them."""

import numpy as np
import pytest

from tfport.graph.dtypes import DType
from tfport.runtime.engines.onnx_runtime import OnnxRuntime
from tfport.runtime.onnx.known_results import KNOWN, MAX_ELEMENTS, NotKnown, known_result, of_sizes
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.program import OnnxNode

INTS, FLOATS = np.int64([5, 2, 7, 0]), np.float32([1.5, -2.25, 3, 0])
FLAGS = INTS > 3
CASES = {
    **{op: ([FLOATS], {}) for op in ("Abs", "Ceil", "Floor", "Identity", "Neg")},
    **{op: ([INTS, INTS[::-1].copy()], {}) for op in ("Add", "Max", "Min", "Mul", "Sub")},
    **{op: ([INTS, INTS[::-1].copy()], {}) for op in ("Equal", "Greater", "Less")},
    **{op: ([INTS, np.int64([5])], {}) for op in ("GreaterOrEqual", "LessOrEqual")},
    **{op: ([FLAGS, FLAGS[::-1].copy()], {}) for op in ("And", "Or", "Xor")},
    **{op: ([INTS], {"keepdims": 0}) for op in ("ReduceMax", "ReduceMin", "ReduceProd")},
    "Cast": ([FLOATS], {"to": 7}),
    "Concat": ([INTS, INTS], {"axis": 0}),
    "ConstantOfShape": ([np.int64([2, 3])], {"value": np.int64([4])}),
    "Div": ([INTS, np.int64([2])], {}),
    "Expand": ([FLOATS, np.int64([2, 1])], {}),
    "Gather": ([FLOATS, np.int64([[3, -1]])], {}),
    "Not": ([FLAGS], {}),
    "Range": ([np.array(1), np.array(9), np.array(3)], {}),
    "Reshape": ([INTS, np.int64([2, -1])], {}),
    "Slice": ([INTS, np.int64([-1]), np.int64([-9]), np.int64([0]), np.int64([-2])], {}),
    "Squeeze": ([INTS[None], np.int64([0])], {}),
    "Tile": ([INTS, np.int64([2])], {}),
    "Transpose": ([INTS.reshape(2, 2)], {"perm": [1, 0]}),
    "Unsqueeze": ([INTS, np.int64([0, 2])], {}),
    "Where": ([FLAGS, INTS, INTS[::-1].copy()], {}),
}


def test_every_op_has_a_case():
    assert CASES.keys() == KNOWN.keys()


@pytest.mark.parametrize("op", CASES)
def test_results_are_those_of_onnx_runtime(op):
    arrays, attrs = CASES[op]
    inputs = [Operand(DType.parse(array.dtype.name), list(array.shape)) for array in arrays]
    result = known_result(op, attrs, arrays)
    output = Operand(DType.parse(result.dtype.name))
    graph = island_model([OnnxNode(op, tuple(inputs), (output,), attrs)], inputs, [output]).model
    names = [[value.name for value in border] for border in (graph.graph.input, graph.graph.output)]
    (expected,) = OnnxRuntime(1).compile(graph.SerializeToString(), {}, *names)(arrays)
    assert result.dtype == expected.dtype
    assert np.array_equal(result, expected)
    assert result.shape == expected.shape


@pytest.mark.parametrize(
    ("op", "arrays"),
    [
        ("Exp", [FLOATS]),
        ("Div", [INTS, INTS]),
        ("Div", [-INTS, np.int64([2])]),
        ("Gather", [INTS, np.int64([4])]),
        ("Expand", [FLOATS[:1], np.int64([MAX_ELEMENTS + 1])]),
        ("Tile", [FLOATS, np.int64([1 << 40])]),
        ("Range", [np.int64(0), np.int64(1 << 40), np.int64(1)]),
        ("ConstantOfShape", [np.int64([1 << 40])]),
        ("Reshape", [INTS, np.int64([3])]),
    ],
)
def test_what_is_left_to_a_run(op, arrays):
    with pytest.raises(NotKnown):
        known_result(op, {}, arrays)


def test_shapes_and_sizes():
    assert of_sizes("Shape", {"start": 1, "end": 3}, [4, 5, 6, 7]).tolist() == [5, 6]
    assert of_sizes("Size", {}, [4, 5]).tolist() == 20
