"""Subgraphs of TensorFlow Lite files by columns."""

from pathlib import Path

import numpy as np
from tests.frontends.lite.graphs import graph, lite_file, op

import tfport
from tfport.web.graph_view.columns import GraphCall
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.graph_view.lite_graph import LiteGraphs

WAKE_WORD = Path(__file__).parents[3] / "examples/wake_word.tflite"
CALLS = {"cond_subgraph_index": 1, "body_subgraph_index": 2}
LOOP = lite_file(
    graph("x -> y", op("WHILE", "x", "y", **CALLS), x="INT32 2", y="INT32 2"),
    graph("x -> y", op("LESS", "x limit", "y"), x="INT32 2", y="BOOL 2", limit=np.int32([9, 9])),
    graph("x -> y", op("ADD", "x step", "y"), x="INT32 2", y="INT32 2", step=np.int32([1, 2])),
)


def edges(data):
    names = data.names
    return [
        (names[s], names[t], data.types[k])
        for s, t, k in zip(data.source, data.target, data.edge_type, strict=True)
    ]


def test_a_loop_calls_its_subgraphs():
    graphs = LiteGraphs(LOOP)
    assert [(s.id, s.nodes, s.callers) for s in graphs.summaries()] == [
        ("s0", 3, 0),
        ("s1", 4, 1),
        ("s2", 4, 1),
    ]
    main = graphs.columns("s0")
    assert main.calls == [GraphCall(1, ["s1", "s2"], 0, ["s2"])]
    body = graphs.columns("s2")
    ends = [*body.arguments, *body.results]
    assert [body.names[i] for i in ends] == ["x", "y (output)"]
    assert main.role == [3, 5, 4]
    calls = graphs.details("s0", "y")["calls"]
    assert [(c["attribute"], c["graph"]) for c in calls] == [
        ("cond_subgraph_index", "s1"),
        ("body_subgraph_index", "s2"),
    ]


def test_edges_have_types_and_constants_values():
    graphs = LiteGraphs(LOOP)
    assert edges(graphs.columns("s2")) == [
        ("x", "y", "int32 [2]"),
        ("step", "y", "int32 [2]"),
        ("y", "y (output)", "int32 [2]"),
    ]
    step = graphs.details("s2", "step")
    assert (step["role"], step["value"]["values"]) == (1, [1, 2])
    assert step["outputs"][0]["readers"] == ["y"]


def test_a_file_shows_its_subgraphs_first_and_then_what_tfport_runs():
    graphs = ModelGraphs(tfport.load(WAKE_WORD))
    assert [(s.id, s.kind) for s in graphs.summaries] == [("s0", "subgraph"), ("main", "graph")]
    assert {"CONV_2D", "SOFTMAX"} <= set(graphs.document("s0")["ops"])
    assert graphs.nodes_with_op("SOFTMAX") == [{"graph": "s0", "node": "StatefulPartitionedCall_1:0"}]


def test_a_tensor_that_does_not_exist_is_left_out():
    file = lite_file(graph("x -> y", op("ADD", "x nobody", "y"), x="INT32 2", y="INT32 2"))
    file.subgraphs[0].operators[0].inputs = (0, 77)
    assert len(LiteGraphs(file).columns("s0").source) == 2
