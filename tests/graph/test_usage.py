"""Nodes that every runtime treats alike are one usage, whatever their names and contents are."""

import pytest
from tests.recorded_models import graph, shared

from tfport.formats.proto import graph_pb2 as pb
from tfport.graph.build import graph_from_def, graph_to_def
from tfport.graph.dtypes import INVALID
from tfport.graph.reach import every_node
from tfport.graph.usage import usage_key, usages


def grouped(text: str) -> list[list[str]]:
    return [[node.name for node in usage.nodes] for usage in usages(graph(text))]


def test_nodes_with_the_same_attributes_and_input_types_are_one_usage():
    text = """
    a = Placeholder() {dtype=float32, shape=(2,)}
    b = Placeholder() {dtype=float32, shape=(3,)}
    c = Placeholder() {dtype=int32, shape=(3,)}
    x = Identity(a) {T=float32}
    y = Identity(b) {T=float32}
    z = Identity(c) {T=int32}
    """
    assert grouped(text) == [["a", "b"], ["c"], ["x", "y"], ["z"]]


def test_types_of_inputs_count_also_where_no_attribute_says_them():
    text = """
    a = Placeholder() {dtype=float32}
    b = Placeholder() {dtype=int32}
    x = NoSuchOp(a, b)
    y = NoSuchOp(a, b)
    z = NoSuchOp(b, a)
    """
    assert grouped(text) == [["a"], ["b"], ["x", "y"], ["z"]]
    assert list(map(str, usages(graph(text))[-1].inputs)) == ["int32", "float32"]


def test_the_output_of_a_missing_node_has_no_type():
    record = pb.GraphDef(node=[pb.NodeDef(name="x", op="Identity", input=["lost"])])
    (usage,) = usages(graph_from_def(record, graph("").ops))
    assert usage.inputs == (INVALID,)


def test_arguments_of_functions_have_the_types_of_the_signature():
    text = """
def f(x: float32, i: int32) -> (y: float32):
  a = Identity(x) {T=float32}
  b = Identity(a) {T=float32}
  c = Identity(i) {T=int32}
  return y=b
"""
    body = graph(text).library.functions["f"]
    found = [([node.name for node in usage.nodes], list(map(str, usage.inputs))) for usage in usages(body)]
    assert found == [(["a", "b"], ["float32"]), (["c"], ["int32"])]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("Const() {dtype=int32, value=int32()[1]}", "Const() {dtype=int32, value=int32(2,)[1, 2]}", True),
        ("Const() {dtype=int32, value=int32()[1]}", "Const() {dtype=int64, value=int64()[1]}", False),
        ('VarHandleOp() {shared_name="a", shape=(1,)}', 'VarHandleOp() {shared_name="b", shape=(2,)}', True),
        ("NoOp() {_class=[1]}", "NoOp() {_class=[2]}", True),
        ('NoOp() {_kernel="a"}', 'NoOp() {_kernel="b"}', False),
        ("NoOp() {a=1}", "NoOp() {a=2}", False),
        ("NoOp() {a=1}", "NoOp() {b=1}", False),
        ("NoOp() {a=1, b=2}", "NoOp() {b=2, a=1}", True),
    ],
)
def test_only_what_a_runtime_looks_at_distinguishes_nodes(first, second, same):
    text = f"x = {first}\ny = {second}"
    for program in (graph(text), graph_from_def(graph_to_def(graph(text)), graph(text).ops)):
        assert (usage_key(program["x"]) == usage_key(program["y"])) == same


@pytest.mark.parametrize("name", ["module", "keras_lstm", "tables_in_memory"])
def test_the_key_is_the_same_once_the_attributes_were_decoded(name):
    record = graph_to_def(shared(name).graph)
    as_read = graph_from_def(record, shared(name).graph.ops)
    decoded = graph_from_def(record, shared(name).graph.ops)
    for node in every_node(decoded):
        assert node.attrs is not None
    pairs = list(zip(every_node(as_read), every_node(decoded), strict=True))
    assert pairs
    assert any(one.attrs_are_as_read for one, _ in pairs)
    for one, other in pairs:
        assert usage_key(one) == usage_key(other)
