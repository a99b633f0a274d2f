"""Known shapes of values: of the main graph by planning it, of function bodies as the file states them."""

from tests.fix.certify.models import frozen
from tests.recorded_models import graph, of_kind, shared

from tfport.fix.facts import Facts
from tfport.graph.shapes import UNKNOWN, Shape


def planned(facts):
    return "_traced" in vars(facts)


def test_a_function_body_does_not_need_a_plan():
    bodies = 0
    for name in of_kind("saved_model")[:8]:
        model = shared(name)
        facts = Facts(model)
        for function in model.graph.library.functions.values():
            for node in function:
                for value in node.read_outputs:
                    assert facts.shape(value) == value.shape
                    bodies += 1
        assert not planned(facts)
    assert bodies > 10


def test_a_shape_that_the_main_graph_does_not_state_is_planned():
    model = frozen("x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = Neg(x) {T=float32}")
    facts = Facts(model)
    assert facts.shape(model.graph["y"].output(0)) == Shape((None, 3))
    assert planned(facts)


def test_without_a_model_nothing_is_planned():
    made = graph("x = Placeholder() {dtype=float32}\ny = Neg(x) {T=float32}")
    assert Facts().shape(made["y"].output(0)) == UNKNOWN
