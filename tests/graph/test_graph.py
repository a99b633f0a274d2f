from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.recorded_models import OPS, graph

from tfport.errors import MalformedGraph
from tfport.graph.dtypes import FLOAT32, INVALID
from tfport.graph.graph import Graph
from tfport.graph.reach import needed_by
from tfport.graph.shapes import UNKNOWN, Shape


def assert_true_uses(g: Graph) -> None:
    """The users of values and nodes are the nodes that read them."""
    readers: dict[object, Counter] = {}
    waiters: dict[object, set] = {}
    for node in (*g, *g.ends):
        for value in node.inputs:
            readers.setdefault(value, Counter())[node] += 1
        for control in node.controls:
            waiters.setdefault(control, set()).add(node)
    for node in (*g, *g.missing.values()):
        assert set(node.control_users) == waiters.pop(node, set())
        for value in node._outputs.values():
            assert Counter(value._users or {}) == readers.pop(value, Counter())
            assert set(value.uses) <= set(node.users)
    assert not readers
    assert not waiters


class Edits(RuleBasedStateMachine):
    """Edits in any order keep both ends of every edge consistent."""

    @initialize()
    def begin(self):
        self.graph = Graph(OPS)
        for _ in range(3):
            self.graph.add("Const")

    def node(self, data):
        return data.draw(st.sampled_from(list(self.graph)))

    def value(self, data):
        return self.node(data).output(data.draw(st.integers(0, 2)))

    @rule(data=st.data(), reads=st.integers(0, 3), waits=st.integers(0, 2), name=st.sampled_from("ab"))
    def add(self, data, reads, waits, name):
        values = [self.value(data) for _ in range(reads)]
        self.graph.add("Op", values, name=name, controls=[self.node(data) for _ in range(waits)])

    @rule(data=st.data())
    def set_input(self, data):
        node = self.node(data)
        if node.inputs:
            node.set_input(data.draw(st.integers(0, len(node.inputs) - 1)), self.value(data))

    @rule(data=st.data(), count=st.integers(0, 3))
    def set_controls(self, data, count):
        self.node(data).set_controls([self.node(data) for _ in range(count)])

    @rule(data=st.data())
    def replace_value(self, data):
        old, new = self.value(data), self.value(data)
        old.replace_by(new)
        assert old is new or not old.uses

    @rule(data=st.data(), waits=st.integers(0, 2))
    def replace_node(self, data, waits):
        node = self.node(data)
        node.replace_by([self.value(data) for _ in range(4)], [self.node(data) for _ in range(waits)])

    @precondition(lambda self: len(self.graph) > 3)
    @rule(data=st.data())
    def remove(self, data):
        node = self.node(data)
        if node.users:
            with pytest.raises(MalformedGraph, match="cannot be removed"):
                self.graph.remove(node)
            assert node.name in self.graph
        else:
            self.graph.remove(node)
            assert node.name not in self.graph
            assert not node.inputs

    @rule(data=st.data())
    def prune(self, data):
        keep = needed_by([self.node(data), *list(self.graph)[:2]])
        self.graph.prune(keep)
        assert set(self.graph) == keep

    @rule(data=st.data())
    def prune_too_much(self, data):
        node = self.node(data)
        before = {n: (n.inputs, n.controls) for n in self.graph}
        if set(node.users) - {node}:
            with pytest.raises(MalformedGraph, match="cannot be removed"):
                self.graph.prune(set(self.graph) - {node})
            assert {n: (n.inputs, n.controls) for n in self.graph} == before

    @invariant()
    def uses_are_true(self):
        if hasattr(self, "graph"):
            assert_true_uses(self.graph)


TestEdits = Edits.TestCase
TestEdits.settings = settings(max_examples=40, stateful_step_count=30, deadline=None)


def test_a_node_that_reads_a_value_twice_is_one_use():
    g = graph("x = Const()\ny = Mul(x, x)")
    assert g["x"].output(0).uses == [g["y"]]
    g["y"].set_input(0, g["y"].output(1))
    assert g["x"].output(0).uses == [g["y"]]
    assert_true_uses(g)


def test_data_and_control_edges_are_separate():
    g = graph("x = Const()\ny = Neg(x)\nz = NoOp(^x)")
    assert g["x"].output(0).uses == [g["y"]]
    assert g["x"].control_users == [g["z"]]
    assert g["x"].users == [g["z"], g["y"]]


def test_a_name_that_is_taken_becomes_a_free_one():
    g = Graph(OPS)
    assert [g.add("Add", name="x").name for _ in range(3)] == ["x", "x_1", "x_2"]
    assert g.add("Add").name == "Add"
    g.remove(g["x_1"])
    assert g.add("Add", name="x_1").name == "x_1"


def test_ten_thousand_nodes_of_one_name_are_added_at_once():
    g = Graph(OPS)
    for _ in range(10_000):
        g.add("NoOp", name="same")
    assert "same_9999" in g


def test_in_a_function_the_names_of_arguments_are_taken():
    body = graph("def f(x: float32) -> (y: float32):\n  return y=x").library.functions["f"]
    assert body.add("NoOp", name="x").name == "x_1"
    with pytest.raises(MalformedGraph, match=r"^two nodes have the name `x`$"):
        body.new_node("x", "NoOp")


def test_a_value_is_found_by_name():
    g = graph("x = Split() {num_split=2}")
    assert g.value("x").index == 0
    assert g.value("x:1") is g["x"].output(1)
    for wrong in ("y", "x:y", "x:-1", "x:99999999999", "x:²", ""):
        with pytest.raises(MalformedGraph, match=f"^there is no tensor `{wrong}` in the graph$"):
            g.value(wrong)


def test_types_and_shapes_come_from_the_file():
    g = graph("""
        x = Placeholder() {dtype=float32, shape=(?, 3)}
        c = Const() {dtype=float32, value=float32(2,)[1.0, 2.0]}
        a = AddV2(x, c) {T=float32, _output_shapes=[(?, 2)]}
        u = Acme(x)
    """)
    assert [g[n].output(0).dtype for n in "xcau"] == [FLOAT32, FLOAT32, FLOAT32, INVALID]
    assert [g[n].output(0).shape for n in "xcau"] == [
        Shape((None, 3)),
        Shape((2,)),
        Shape((None, 2)),
        UNKNOWN,
    ]


def test_too_few_replacements_are_refused():
    g = graph("x = Split() {num_split=3}\ny = Neg(x:2)\nc = Const()")
    with pytest.raises(MalformedGraph, match=r"^`y` reads `x:2`, but there are only 1 replacements$"):
        g["x"].replace_by([g["c"].output(0)], [])
    assert g["y"].inputs == (g["x"].output(2),)


def test_a_node_may_become_another_op_for_the_same_users():
    g = graph("x = Const()\ny = Neg(x)\nz = Abs(y)")
    g["y"].become("Identity", {"T": FLOAT32})
    assert (g["y"].op, g["y"].attrs, g["z"].inputs[0].node) == ("Identity", {"T": FLOAT32}, g["y"])
    assert_true_uses(g)


def test_a_node_replaces_many_outputs_of_one_reader_at_once():
    g = graph("x = Split() {num_split=20000}\nother = Const()")
    reader = g.add("ConcatV2", [g["x"].output(i) for i in range(20_000)])
    g["x"].replace_by([g["other"].output(0)] * 20_000, [])
    assert set(reader.inputs) == {g["other"].output(0)}


def test_the_source_of_a_value_is_before_what_passes_it_on():
    g = graph("""
        x = Placeholder() {dtype=float32}
        a = Identity(x) {T=float32}
        b = Enter(a) {T=float32, frame_name="f"}
        c = Identity(b) {T=float32}
        y = Placeholder() {dtype=float32}
    """)
    c = g["c"].output(0)
    assert c.source() is g["b"].output(0)
    assert c.source(("Identity", "Enter")) is g["x"].output(0)
    assert c.source(("Identity", "Enter"), {g["x"].output(0): g["y"].output(0)}) is g["y"].output(0)
    g["a"].set_inputs([c])
    assert c.source(("Identity", "Enter")).node.name in "abc"  # a cycle ends
