"""The flag for recurrent nodes that read what is not finite."""

import numpy as np
import onnxruntime as ort
import pytest
from tests.runtime.passes.rewritten import flagged

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.passes.island_model import island_model
from tfport.runtime.passes.islands.input_flags import finite_inputs
from tfport.runtime.passes.pass_list import NodeForms
from tfport.runtime.program import OnnxNode

IN, UNITS = 3, 2
FLOAT16 = DType.parse("float16")
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
X = np.ones((5, 2, IN), np.float32)


def fed(name, *shape):
    return Operand(FLOAT32, shape, name=name)


def recurrent(b, op, x, *states):
    """A node with weights of 1."""
    gates, size = GATES[op] * UNITS, x.shape[2]
    weights = [b.const(np.ones((1, gates, width)), FLOAT32) for width in (size, UNITS)]
    outputs = 1 + (2 if op == "LSTM" else 1)
    made = b.nodes(op, x, *weights, None, None, *states, outputs=outputs, dtype=FLOAT32, hidden_size=UNITS)
    return made[0]


def flag_of(b, inputs, arrays, *outputs):
    nodes, flag = flagged(finite_inputs, b.added)
    island = island_model(nodes, inputs, [*outputs, flag], forms=NodeForms.PLAIN)
    session = ort.InferenceSession(island.model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [operand.name for operand in session.get_inputs()]
    return session.run(None, dict(zip(names, arrays, strict=True)))[-1]


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize(
    ("number", "raised"), [(1e30, False), (np.nan, True), (np.inf, True), (-np.inf, True)]
)
def test_a_number_that_is_not_finite_raises_the_flag(op, number, raised):
    b, x = Builder("test"), fed("x", None, None, IN)
    y = recurrent(b, op, x)
    rows = X.copy()
    rows[3, 1, 2] = number
    assert bool(flag_of(b, [x], [rows], y)) is raised


@pytest.mark.parametrize(("number", "raised"), [(65000, False), (np.nan, True)])
def test_half_precision_does_not_overflow(number, raised):
    b, x = Builder("test"), Operand(FLOAT16, (None, None, IN), name="x")
    recurrent(b, "LSTM", x)
    nodes, flag = flagged(finite_inputs, b.added)
    others = [node for node in nodes if node.op != "LSTM"]
    island = island_model(others, [x], [flag], forms=NodeForms.PLAIN)
    session = ort.InferenceSession(island.model.SerializeToString(), providers=["CPUExecutionProvider"])
    (result,) = session.run(None, {session.get_inputs()[0].name: np.full(X.shape, number, np.float16)})
    assert bool(result) is raised


@pytest.mark.parametrize("place", [0, 1])
def test_states_that_are_fed_raise_the_flag(place):
    b, x = Builder("test"), fed("x", None, None, IN)
    states = [fed("h", 1, None, UNITS), fed("c", 1, None, UNITS)]
    y = recurrent(b, "LSTM", x, *states)
    arrays = [np.zeros((1, 2, UNITS), np.float32) for _ in states]
    assert not flag_of(b, [x, *states], [X, *arrays], y)
    arrays[place][0, 1, 1] = np.nan
    assert flag_of(b, [x, *states], [X, *arrays], y)


def test_states_that_are_constants_are_not_read():
    b, x = Builder("test"), fed("x", None, None, IN)
    sizes = b.Concat(b.ints(1), b.Shape(x, start=1, end=2), b.ints(UNITS), axis=0)
    zeros = b.nodes("ConstantOfShape", sizes, dtype=FLOAT32, value=np.zeros(1, np.float32))[0]
    start = b.Expand(b.Add(b.const(np.ones((1, 1, UNITS)), FLOAT32), zeros), sizes)
    recurrent(b, "LSTM", x, start, zeros)
    nodes, _ = flagged(finite_inputs, b.added)
    assert [node.inputs[0] for node in nodes if node.op == "ReduceSum"] == [x]


def test_other_nodes_have_no_flag():
    b, x = Builder("test"), fed("x", None, None, IN)
    b.Relu(b.MatMul(x, b.const(np.ones((IN, UNITS)), FLOAT32)))
    assert flagged(finite_inputs, b.added) == (b.added, None)


def test_operands_are_read_when_they_are_computed():
    b, x = Builder("test"), fed("x", None, None, IN)
    recurrent(b, "LSTM", b.Relu(x))
    recurrent(b, "GRU", b.Neg(x))
    nodes, _ = flagged(finite_inputs, b.added)
    ops = [node.op for node in nodes]
    assert ops == ["Relu", "ReduceSum", "LSTM", "Neg", "ReduceSum", "GRU", "Add", "Mul"]


@pytest.mark.parametrize("op", GATES)
@pytest.mark.parametrize(("activation", "read"), [("Tanh", 1), ("Relu", 2)])
def test_the_outputs_of_bounded_layers_are_not_read(op, activation, read):
    b, x = Builder("test"), fed("x", None, None, IN)
    first = recurrent(b, op, x)
    b.added[-1].attrs["activations"] = [activation] * {"LSTM": 3, "GRU": 2, "RNN": 1}[op]
    rows = b.Transpose(b.squeeze(first, 1), perm=[1, 0, 2])
    both = b.Concat(rows, rows, axis=2)
    recurrent(b, op, Operand(FLOAT32, (None, None, 2 * UNITS), name="both"))
    second = b.added[-1]
    changed = [node if node is not second else replaced(node, both) for node in b.added]
    nodes, _ = flagged(finite_inputs, changed)
    assert [node.op for node in nodes].count("ReduceSum") == read


def replaced(node, x):
    return OnnxNode(node.op, (x, *node.inputs[1:]), node.outputs, node.attrs, node.domain)
