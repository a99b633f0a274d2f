"""The search for nodes: stated attributes, defaults, layers, operators, and values with spaces."""

import pytest
from tests.recorded_models import shared
from tests.web.graph_view.test_layer_graph import functional, layer

import tfport
from tfport.frontends.keras.config import LayerConfig, model_config
from tfport.frontends.keras.instance import LayerInstance
from tfport.web.graph_view.columns import attribute_columns, text_matches
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.graph_view.layer_graph import LayerGraphs
from tfport.web.graph_view.search import search

WAKE_WORD = "examples/wake_word.tflite"


def found(graphs, query):
    return [match["node"] for match in search(graphs, query)["matches"]]


@pytest.fixture(scope="module")
def lite(pytestconfig):
    return ModelGraphs(tfport.load(str(pytestconfig.rootpath / WAKE_WORD)))


def test_a_default_that_the_file_leaves_out_is_found():
    model = shared("keras_functional")
    graphs = ModelGraphs(model)
    products = found(graphs, "op:MatMul")
    assert products
    assert found(graphs, "op:MatMul attr:transpose_a=false") == products
    assert found(graphs, "op:MatMul attr:transpose_a=true") == []


def test_values_with_spaces_are_in_quotes():
    graphs = ModelGraphs(shared("keras_functional"))
    shaped = search(graphs, "op:Placeholder attr:shape")["total"]
    assert 0 < search(graphs, 'op:Placeholder attr:"shape=(?, "')["total"] <= shaped
    assert search(graphs, 'attr:"shape=(?, 77, 77)"')["total"] == 0


def test_options_of_operators_are_attributes(lite):
    columns = lite.families[0].columns("s0")
    for padding, ops in (("SAME", ["CONV_2D", "DEPTHWISE_CONV_2D"]), ("VALID", ["CONV_2D"])):
        matches = search(lite, f"attr:padding={padding}")["matches"]
        places = [columns.index_of(match["node"]) for match in matches if match["graph"] == "s0"]
        assert [columns.ops[columns.op[place]] for place in places] == ops
    # the first convolution leaves out its padding, as it is the default
    details = lite.details("s0", columns.names_with_op("CONV_2D")[0])
    assert {"name": "padding", "value": "SAME", "default": True} in details["attributes"]


def test_options_of_layers_are_attributes():
    layers = [layer("x", "InputLayer"), layer("d", inputs=["x"], units=3)]
    config = model_config(functional("m", layers, ["x"], ["d"]), "m.h5")
    graphs = LayerGraphs(LayerInstance(LayerConfig("Functional", "m", {}, model=config)))
    columns = graphs.columns("layers")
    assert graphs.attributes("layers", columns.index_of("output")) == []
    dense = graphs.attributes("layers", columns.index_of("d"))
    assert text_matches(dense, "units")
    assert not text_matches(dense, "units=77")


def _listed(attributes):
    return [{"name": name, "value": value} for name, value in attributes.items()]


def test_columns_have_each_text_once():
    nodes = [{"a": "1", "b": "2"}, {"value": "large"}, {"a": "1", "c": "3" * 500}]
    columns = attribute_columns(map(_listed, nodes))
    assert columns["nodes"] == [[0, 1], [], [0, 2]]
    assert columns["texts"][:2] == ["a=1", "b=2"]
    assert len(columns["texts"][2]) == 120
