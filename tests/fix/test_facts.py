"""Known shapes of values: of the main graph as its ops determine them, of function bodies as stated."""

import pytest
from tests.fix.certify.models import frozen
from tests.recorded_models import graph, of_kind, shared

from tfport.fix.facts import Facts
from tfport.graph.shapes import UNKNOWN, Shape


def inferred(facts):
    return "_inferred" in vars(facts)


def test_a_function_body_needs_no_inference():
    bodies = 0
    for name in of_kind("saved_model")[:8]:
        model = shared(name)
        facts = Facts(model)
        for function in model.graph.library.functions.values():
            for node in function:
                for value in node.read_outputs:
                    assert facts.shape(value) == value.shape
                    bodies += 1
        assert not inferred(facts)
    assert bodies > 10


def test_a_shape_that_the_main_graph_does_not_state_is_inferred():
    model = frozen("x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = Neg(x) {T=float32}")
    facts = Facts(model)
    assert facts.shape(model.graph["y"].output(0)) == Shape((None, 3))
    assert inferred(facts)


def test_without_a_model_nothing_is_inferred():
    made = graph("x = Placeholder() {dtype=float32}\ny = Neg(x) {T=float32}")
    assert Facts().shape(made["y"].output(0)) == UNKNOWN


CONSTANTS = """
x = Placeholder() {dtype=float32, shape=(?, 3)}
a = Const() {dtype=int32, value=int32(2,)[4, 5]}
b = Const() {dtype=float32, value=float32()[0.5]}
total = AddV2(a, a) {T=int32}
root = Sqrt(b) {T=float32}
rank = Rank(x) {T=float32}
fed = Neg(x) {T=float32}
"""


def test_what_depends_on_constants_or_shapes_alone_is_computed():
    model = frozen(CONSTANTS)
    facts = Facts(model)
    values = {name: facts.constant(model.graph[name].output(0)) for name in ("total", "root", "rank", "fed")}
    assert values["total"].tolist() == [8, 10]
    assert values["root"] == pytest.approx(0.5**0.5)
    assert values["rank"] == 2
    assert values["fed"] is None
