"""Which nodes LiteRT may compute: those that are translated, and make ordinary numbers of such."""

import numpy as np
import pytest

from tfport.graph.dtypes import DType
from tfport.runtime.engines.litert.litert_nodes import LiteRtNodes
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode


def floats(*shape, name="float32"):
    return Operand(DType.parse(name), list(shape))


def constant(value, dtype=np.float32):
    return Operand(DType.parse(np.dtype(dtype).name), value=np.asarray(value, dtype))


IMAGE, WEIGHTS = floats(1, 4, 8, 8), constant(np.ones((2, 4, 3, 3)))
INTEGERS = Operand(DType.parse("int64"), [2])
NODES = [
    ("Relu", [IMAGE], {}, True),
    ("Sigmoid", [IMAGE], {}, True),
    ("Exp", [IMAGE], {}, True),
    ("Sqrt", [IMAGE], {}, True),
    ("Erf", [IMAGE], {}, False),
    ("Relu", [floats(2, name="float64")], {}, False),
    ("Relu", [floats(2, name="float16")], {}, False),
    ("Div", [IMAGE, IMAGE], {}, True),
    ("Div", [IMAGE, constant([2])], {}, True),
    ("Add", [IMAGE, constant([np.inf])], {}, False),
    ("Add", [IMAGE, constant([np.nan])], {}, False),
    ("Conv", [IMAGE, WEIGHTS], {}, True),
    ("Conv", [IMAGE, floats(2, 4, 3, 3)], {}, False),
    ("Conv", [floats(1, 4, 8, 8, 8), constant(np.ones((2, 4, 1, 1, 1)))], {}, False),
    ("MaxPool", [IMAGE], {"kernel_shape": [2, 2]}, True),
    ("MaxPool", [floats(1, 4, 8, 8, 8)], {"kernel_shape": [2, 2, 2]}, False),
    ("Pad", [IMAGE, constant([0] * 8, np.int64)], {}, True),
    ("Pad", [IMAGE, constant([0] * 8, np.int64)], {"mode": "reflect"}, False),
    ("Pad", [IMAGE, constant([-1] * 8, np.int64)], {}, False),
    ("Pad", [IMAGE, constant([0] * 8, np.int64), constant(1)], {}, False),
    ("Pad", [IMAGE, INTEGERS], {}, False),
    ("Resize", [IMAGE, None, None, INTEGERS], {"mode": "linear"}, True),
    ("Resize", [IMAGE, None, None, INTEGERS], {"mode": "nearest"}, False),
    ("Slice", [IMAGE, INTEGERS, INTEGERS, None, constant([1], np.int64)], {}, True),
    ("Slice", [IMAGE, INTEGERS, INTEGERS, None, constant([2], np.int64)], {}, True),
    ("Slice", [IMAGE, INTEGERS, INTEGERS, None, constant([-1], np.int64)], {}, False),
    ("Gather", [IMAGE, constant([0], np.int64)], {}, True),
    ("Gather", [IMAGE, INTEGERS], {}, False),
    ("Gemm", [floats(2, 3), constant(np.ones((3, 2)))], {}, True),
    ("Gemm", [floats(2, 3), constant(np.ones((3, 2)))], {"alpha": 0.5}, False),
    ("Elu", [IMAGE], {"alpha": 0.5}, False),
]


@pytest.mark.parametrize(("op", "inputs", "attrs", "may"), NODES)
def test_which_nodes_it_may_compute(op, inputs, attrs, may):
    result = Operand(inputs[0].dtype)
    assert LiteRtNodes()(OnnxNode(op, tuple(inputs), (result,), attrs)) == may


@pytest.mark.parametrize(
    ("op", "source", "target", "may"),
    [
        ("Cast", "int32", "float32", True),
        ("Cast", "uint8", "float32", True),
        ("Cast", "int64", "int32", False),
        ("Cast", "float32", "int32", False),
        ("Cast", "float64", "float32", False),
        ("Shape", "float32", "int64", True),
        ("ArgMax", "float32", "int64", False),
        ("Mod", "int64", "int64", False),
        ("Mul", "int64", "int64", False),
        ("Greater", "float32", "bool", False),
    ],
)
def test_integers_are_those_of_shapes_and_images(op, source, target, may):
    inputs = (Operand(DType.parse(source), [2]),)
    assert LiteRtNodes()(OnnxNode(op, inputs, (Operand(DType.parse(target)),), {})) == may


def test_what_follows_from_sizes_is_known():
    nodes = LiteRtNodes()
    integer, real = DType.parse("int64"), DType.parse("float32")
    shape, count, divisor = Operand(integer), Operand(integer), Operand(real)
    assert nodes(OnnxNode("Shape", (IMAGE,), (shape,), {}))
    assert nodes(OnnxNode("ReduceProd", (shape,), (count,), {}))
    assert nodes(OnnxNode("Cast", (count,), (divisor,), {"to": 1}))
    assert nodes(OnnxNode("Div", (IMAGE, divisor), (Operand(real),), {}))
    assert not LiteRtNodes()(OnnxNode("ReduceProd", (shape,), (count,), {}))
