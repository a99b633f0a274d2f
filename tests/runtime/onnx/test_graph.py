"""The links of a graph follow each change of its nodes."""

import pytest

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.onnx.graph import OnnxGraph
from tfport.runtime.operand import Operand
from tfport.runtime.program import OnnxNode, Program, Step


@pytest.fixture
def square():
    """`relu(-x) · relu(-x)`, and its nodes."""
    b, x = Builder("test"), Operand(FLOAT32, (3,))
    above = b.Relu(b.Neg(x))
    return x, above, OnnxGraph(b.added, [b.Mul(above, above)]), b.added


def test_links_lead_both_ways(square):
    x, above, graph, (neg, relu, mul) = square
    assert graph.producer(above) is relu
    assert graph.producer(above, "Neg") is None
    assert graph.producer(x) is None
    assert list(graph.readers(above)) == [mul, mul]
    assert (graph.uses(above), graph.uses(mul.outputs[0])) == (2, 1)
    assert graph.only_reader(neg) is relu
    assert graph.only_reader(relu) is None


def test_a_node_is_replaced_by_others_in_its_place(square):
    _, above, graph, (neg, relu, _) = square
    assert graph.producer(above) is relu
    copy = Operand(FLOAT32, (3,))
    first = OnnxNode("Identity", neg.outputs, (copy,), {})
    second = OnnxNode("Abs", (copy,), (above,), {})
    graph.replace(relu, first, second)
    assert [node.op for node in graph.nodes] == ["Neg", "Identity", "Abs", "Mul"]
    assert (graph.producer(above), graph.only_reader(neg)) == (second, first)


def test_a_node_is_replaced_again_before_anyone_looks(square):
    _, above, graph, (_, relu, mul) = square
    after = OnnxNode("Identity", (above,), (Operand(FLOAT32, (3,)),), {})
    graph.replace(relu, relu, after)
    graph.replace(relu, OnnxNode("Abs", relu.inputs, relu.outputs, {}))
    graph.replace(after)
    assert [node.op for node in graph.nodes] == ["Neg", "Abs", "Mul"]
    assert list(graph.readers(above)) == [mul, mul]


def test_what_no_output_depends_on_is_removed(square):
    x, _, graph, (*_, mul) = square
    graph.replace(mul, OnnxNode("Abs", (x,), mul.outputs, {}))
    graph.remove_unused()
    assert [node.op for node in graph.nodes] == ["Abs"]


def test_a_branch_reads_what_it_captures(square):
    _, above, graph, _ = square
    inner = Builder("branch")
    result = inner.Neg(above)
    branch = Program([], [Step("", "", (), (result,), inner.added)], [result])
    choice = OnnxNode("If", (Operand(FLOAT32),), (Operand(FLOAT32),), {"then_branch": branch})
    graph.append(choice)
    assert graph.readers(above)[-1] is choice
