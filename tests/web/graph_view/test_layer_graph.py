"""Layers of Keras models by columns."""

from pathlib import Path

import tfport
from tfport.frontends.keras.config import LayerConfig, model_config
from tfport.frontends.keras.instance import LayerInstance
from tfport.web.graph_view.columns import GraphCall
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.graph_view.layer_graph import LayerGraphs

REVIEWS = Path(__file__).parents[2] / "frontends/keras/models/reviews.h5"


def test_layers_come_before_the_graph_that_they_compute():
    graphs = ModelGraphs(tfport.load(REVIEWS))
    kinds = [(s.id, s.kind) for s in graphs.summaries]
    assert kinds[0] == ("layers", "layers")
    assert ("main", "graph") in kinds
    data = graphs.document("layers")
    assert data["ops"][0] == "InputLayer"
    assert data["role"][0] == 3
    assert data["role"][-1] == 4
    assert all(data["types"])
    for name in data["names"]:
        details = graphs.details("layers", name)
        assert details["attributes"] or details["op"] == "(output)"
    weights = [a["name"] for a in graphs.details("layers", data["names"][1])["attributes"]]
    assert any(name.startswith("weight ") for name in weights)


def layer(name, class_name="Dense", inputs=(), **config):
    calls = [[[source, 0, 0, {}] for source in inputs]] if inputs else []
    return {
        "class_name": class_name,
        "name": name,
        "config": {"name": name, **config},
        "inbound_nodes": calls,
    }


def functional(name, layers, inputs, outputs):
    ends = {"input_layers": [[i, 0, 0] for i in inputs], "output_layers": [[o, 0, 0] for o in outputs]}
    return {"class_name": "Functional", "config": {"name": name, "layers": layers, **ends}}


def test_a_model_inside_a_model_is_a_graph_of_its_own():
    inner = functional("inner", [layer("i", "InputLayer"), layer("d", inputs=["i"])], ["i"], ["d"])
    nested = {**inner, "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]]]}
    layers = [layer("x", "InputLayer"), nested, layer("add", "Add", ["inner", "x"])]
    outer = functional("outer", layers, ["x"], ["add"])
    config = model_config(outer, "m.h5")
    graphs = LayerGraphs(LayerInstance(LayerConfig("Functional", "outer", {}, model=config)))
    summaries = [(s.id, s.name, s.nodes) for s in graphs.summaries()]
    assert summaries == [("layers", "outer", 4), ("layers1", "inner", 3)]
    columns = graphs.columns("layers")
    assert columns.calls == [GraphCall(1, ["layers1"], 0, ["layers1"])]
    called = graphs.columns("layers1")
    assert ([called.names[i] for i in called.arguments], called.results) == (["i"], [2])
    assert columns.role[1] == 5
    names = columns.names
    edges = [(names[s], names[t]) for s, t in zip(columns.source, columns.target, strict=True)]
    assert edges == [("x", "inner"), ("inner", "add"), ("x", "add"), ("add", "output")]
    assert graphs.details("layers", "inner")["calls"][0]["graph"] == "layers1"
