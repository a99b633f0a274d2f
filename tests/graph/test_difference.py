"""The difference of two graphs: by name, by structure, and what changed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded_models import PROGRAMS, graph, load, shared

from tfport.graph.difference import GraphDifference, graph_difference

BASE = """
x = Placeholder() {dtype=float32}
w = Const() {dtype=float32, value=float32(2,)[1.0, 2.0]}
m = Mul(x, w) {T=float32}
y = Relu(m) {T=float32}
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_graph_equals_itself(name):
    for body in (shared(name).graph, *shared(name).graph.library.functions.values()):
        difference = graph_difference(body, body)
        assert difference == GraphDifference(same=difference.same)


CASES = [  # b                                        added  gone   changed (a, words)                renamed
    (BASE.replace("Relu", "Relu6"), [], [], [("y", "op Relu → Relu6")], []),
    (BASE.replace("[1.0, 2.0]", "[1.0, 3.0]"), [], [], [("w", "value float32(2,)[1.0, 2.0]")], []),
    (BASE.replace("Mul(x, w)", "Mul(w, x)"), [], [], [("m", "inputs x, w → w, x")], []),
    (BASE.replace("Relu(m)", "Relu(m, ^w)"), [], [], [("y", "control inputs none → w")], []),
    (BASE + "z = Neg(y) {T=float32}", ["z"], [], [], []),
    (BASE.replace("m ", "k ").replace("(m)", "(k)"), [], [], [], [("m", "k")]),
    (BASE.replace("w ", "v ").replace(", w)", ", v)"), [], [], [], [("w", "v")]),
    (BASE.replace("y = ", "y = ").replace("Relu(m)", "Relu(x)"), [], [], [("y", "inputs m → x")], []),
]  # fmt: skip


@pytest.mark.parametrize(("other", "added", "gone", "changed", "renamed"), CASES, ids=range(len(CASES)))
def test_difference(other, added, gone, changed, renamed):
    difference = graph_difference(graph(BASE), graph(other))
    assert (difference.added, difference.gone, difference.renamed) == (added, gone, renamed)
    assert [name for name, _, _ in difference.changed] == [name for name, _ in changed]
    for (_, _, what), (_, words) in zip(difference.changed, changed, strict=True):
        assert words in what[0]


def test_a_removed_node_is_gone():
    difference = graph_difference(graph(BASE), graph("x = Placeholder() {dtype=float32}"))
    assert (difference.gone, difference.same) == (["w", "m", "y"], 1)


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_renaming_every_node_changes_nothing_but_names(data):
    """A graph whose nodes are unlike each other is matched whole, whatever its names are."""
    size = data.draw(st.integers(1, 12))
    inputs = [data.draw(st.integers(0, i)) for i in range(size)]

    def text(prefix):
        lines = [f"{prefix}0 = Placeholder() {{dtype=float32}}"]
        for i, k in enumerate(inputs):
            lines.append(f"{prefix}{i + 1} = Mul({prefix}{k}, {prefix}{i}) {{T=float32}}")
        return "\n".join(lines)

    difference = graph_difference(graph(text("a")), graph(text("b")))
    assert difference.renamed == [(f"a{i}", f"b{i}") for i in range(size + 1)]
    assert (difference.added, difference.gone, difference.changed) == ([], [], [])


def test_attributes_with_their_default_are_equal_to_none():
    model = load("frozen")
    for node in model.graph:
        if node.signature is not None:
            node.become(node.op, dict(node.signature.with_defaults(node.attrs)))
    assert graph_difference(shared("frozen").graph, model.graph).changed == []
