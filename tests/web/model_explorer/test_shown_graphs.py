"""The graphs that Model Explorer gets: which, by which names, and which one first."""

from pathlib import Path

import pytest
from tests.recorded_models import PROGRAMS, graph, shared

import tfport
from tfport.graph.build import graph_to_def
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.model_explorer.shown_graphs import TENSORFLOW_OPS, ShownGraphs

ROOT = Path(__file__).parents[3]
WAKE_WORD = ROOT / "examples/wake_word.tflite"
REVIEWS = ROOT / "tests/frontends/keras/models/reviews.h5"


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_name_is_that_of_one_graph_and_every_called_graph_is_there(name):
    graphs = ModelGraphs(shared(name))
    shown = ShownGraphs(graphs)
    assert set(shown.names) == set(shown.graphs)
    assert len(set(shown.names.values())) == len(shown.names)
    assert len(shown.graphs) + shown.left_out == len(graphs.summaries)
    assert shown.names["main"] == "main"
    for id, (family, _) in shown.graphs.items():
        assert {called for call in family.columns(id).calls for called in call.graphs} <= set(shown.graphs)


def test_the_function_with_the_work_of_the_default_signature_is_first():
    shown = ShownGraphs(ModelGraphs(shared("keras_lstm")))
    names = [shown.names[id] for id in shown.at_first]
    assert names[0] == "__inference___call___1618"
    assert "sequential_1_lstm_1_while_body_1313" in names
    assert "main" not in names


def test_a_graph_without_functions_is_first():
    assert ShownGraphs(ModelGraphs(shared("classifier"))).at_first == ["main"]


def test_functions_that_nothing_calls_are_left_out_if_there_are_signatures():
    shown = ShownGraphs(ModelGraphs(shared("nested_functions")))
    everything = {summary.id for summary in ModelGraphs(shared("nested_functions")).summaries}
    assert shown.left_out == len(everything - set(shown.graphs))
    text = """
        x = Placeholder() {dtype=float32}
        def unused(x: float32) -> (r: float32):
          y = Abs(x) {T=float32}
          return r=y
    """
    model = tfport.load(graph_to_def(graph(text)).SerializeToString())
    assert set(ShownGraphs(ModelGraphs(model)).names.values()) == {"main", "unused"}


@pytest.mark.parametrize(("path", "first"), [(WAKE_WORD, "main"), (REVIEWS, "layers")], ids=["lite", "keras"])
def test_the_graph_of_the_file_is_before_the_ops_that_it_means(path, first):
    shown = ShownGraphs(ModelGraphs(tfport.load(path)))
    assert [shown.names[id] for id in shown.at_first] == [first]
    assert shown.names["main"] == TENSORFLOW_OPS
