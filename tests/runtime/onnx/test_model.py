"""The ONNX model of an island."""

import numpy as np
import pytest

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.onnx.model import TINY
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.program import OnnxNode


def initializers(*arrays):
    """The names of the initializers of a model that adds arrays to an input, and what each node reads."""
    x = value = Operand(FLOAT32, (None,))
    nodes = []
    for array in arrays:
        dtype = FLOAT32 if array.dtype == np.float32 else INT64
        added = Operand(FLOAT32, (None,))
        nodes.append(OnnxNode("Add", (value, Operand(dtype, value=array)), (added,), {}))
        value = added
    graph = island_model(nodes, [x], [value]).model.graph
    return [tensor.name for tensor in graph.initializer], [node.input[1] for node in graph.node]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (np.float32([0]), np.float32([-0.0])),
        (np.float32([1]), np.array(1, np.float32)),
        (np.zeros(1, np.int64), np.zeros(2, np.float32)),
        (np.zeros(TINY, np.float32), np.zeros(TINY, np.float32)),
    ],
    ids=["sign", "shape", "type", "size"],
)
def test_constants_that_differ_or_are_large_are_written_each(first, second):
    written, read = initializers(first, second)
    assert len(written) == 2
    assert read == written


def test_equal_small_constants_are_written_once():
    written, read = initializers(np.float32([1, 2]), np.float32([1, 2]), np.float32([3, 4]))
    assert len(written) == 2
    assert read == [written[0], written[0], written[1]]


def test_an_engine_gets_long_names_only_of_nodes_and_borders():
    x, between, y = (Operand(FLOAT32, (None,), name=f"layer/{name}") for name in ("x", "between", "y"))
    nodes = [OnnxNode("Neg", (x,), (between,), {}), OnnxNode("Abs", (between,), (y,), {})]
    graph = island_model(nodes, [x], [y]).model.graph
    assert [info.name for info in (*graph.input, *graph.output)] == [x.name, y.name]
    assert list(graph.node[0].output) == ["#" + between.name.partition("#")[2]] == list(graph.node[1].input)
    assert [node.name for node in graph.node] == [f"Neg:{between.name}", f"Abs:{y.name}"]


def test_an_exported_model_has_the_names_of_all_tensors():
    x, between, y = (Operand(FLOAT32, (None,), name=f"layer/{name}") for name in ("x", "between", "y"))
    nodes = [OnnxNode("Neg", (x,), (between,), {}), OnnxNode("Abs", (between,), (y,), {})]
    graph = island_model(nodes, [x], [y], exported=True).model.graph
    assert list(graph.node[0].output) == [between.name]
