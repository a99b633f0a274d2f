"""The graphs of a model by columns: kinds, roles, edges, types, calls."""

import pytest
from tests.recorded_models import PROGRAMS, graph, shared

from tfport.errors import Error
from tfport.graph.graph_outputs import graph_outputs
from tfport.graph.op_counts import count_ops
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.graph_view.node_graph import MISSING, nodes_of


def documents(model):
    graphs = ModelGraphs(model)
    return {summary.id: graphs.document(summary.id) for summary in graphs.summaries}


@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_have_every_node_and_edge(name):
    model = shared(name)
    graphs = ModelGraphs(model)
    for id, data in documents(model).items():
        nodes = list(nodes_of(graphs.nodes.graph(id)))
        assert (
            len(data["names"])
            == len(set(data["names"]))
            == len(nodes)
            == len(data["op"])
            == len(data["role"])
        )
        assert [data["ops"][op] for op in data["op"]] == [node.op or MISSING for node in nodes]
        place = {node: i for i, node in enumerate(nodes)}
        expected = [
            (place[value.node], max(value.index, -1), place[node], number)
            for node in nodes
            for number, value in enumerate(node.inputs)
        ]
        columns = (data[key] for key in ("source", "source_output", "target", "target_input"))
        assert list(zip(*columns, strict=True)) == expected
        controls = list(zip(data["control_source"], data["control_target"], strict=True))
        assert controls == [(place[before], place[node]) for node in nodes for before in node.controls]
        assert len(data["edge_type"]) == len(data["source"])
        assert all(0 <= number < len(data["types"]) for number in data["edge_type"])


@pytest.mark.parametrize("name", PROGRAMS)
def test_types_are_those_of_the_values(name):
    model = shared(name)
    graphs = ModelGraphs(model)
    for id, data in documents(model).items():
        values = [value for node in nodes_of(graphs.nodes.graph(id)) for value in node.inputs]
        for value, number in zip(values, data["edge_type"], strict=True):
            text = data["types"][number]
            if value.index < 0:
                assert text == ""
                continue
            assert text.partition(" [")[0] in (str(value.dtype), "", "unknown type")
            assert ("[" in text) == (value.shape.dims is not None)


def test_roles_and_calls():
    data = documents(shared("keras_lstm"))
    main = data["main"]
    roles = {main["ops"][op]: role for op, role in zip(main["op"], main["role"], strict=True)}
    assert (roles["VarHandleOp"], roles["Placeholder"], roles["StatefulPartitionedCall"]) == (2, 3, 5)
    by_name = {document["name"]: id for id, document in data.items()}
    body = data[by_name["__inference___call___1618"]]
    called = {body["names"][call["node"]]: call["graphs"] for call in body["calls"]}
    loops = {"sequential_1_lstm_1_while_cond_1312", "sequential_1_lstm_1_while_body_1313"}
    assert any(set(ids) == {by_name[name] for name in loops} for ids in called.values())
    assert body["role"][0] == 3
    assert body["role"][-2] == 4


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_joined_call_passes_as_many_tensors_as_its_graphs_take(name):
    data = documents(shared(name))
    for document in data.values():
        for call in document["calls"]:
            if call["first_input"] is None:
                assert call["results"] == []
                continue
            passed = sum(node == call["node"] for node in document["target"]) - call["first_input"]
            assert {len(data[id]["arguments"]) for id in call["graphs"]} == {passed}
            read = [
                output
                for source, output in zip(document["source"], document["source_output"], strict=True)
                if source == call["node"]
            ]
            assert all(max(read, default=-1) < len(data[id]["results"]) for id in call["results"])


def test_a_loop_returns_the_results_of_its_body_and_branches_theirs():
    joins = {}
    for name in PROGRAMS:
        for document in documents(shared(name)).values():
            for call in document["calls"]:
                op = document["ops"][document["op"][call["node"]]]
                joins[op] = call["first_input"], len(call["graphs"]), len(call["results"])
    assert joins["While"] == joins["StatelessWhile"] == (0, 2, 1)
    assert joins["If"] == joins["StatelessIf"] == (1, 2, 2)
    assert joins["StatefulPartitionedCall"] == joins["PartitionedCall"] == (0, 1, 1)


def test_a_missing_node_is_shown():
    program = graph("y = NoOp()")
    program["y"].set_inputs([program.find_or_stand_in("x").output(0)])
    model = shared("frozen")
    copy = type(model)(model.where, model.format, model.files, program, model.meta)
    data = documents(copy)["main"]
    assert (data["names"], [data["ops"][op] for op in data["op"]]) == (["y", "x"], ["NoOp", MISSING])


def test_an_unknown_graph_or_node_is_an_error():
    graphs = ModelGraphs(shared("frozen"))
    with pytest.raises(Error, match="there is no graph `f7`"):
        graphs.document("f7")
    with pytest.raises(Error, match="has no node `nobody`"):
        graphs.details("main", "nobody")


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_parts_of_the_main_graph_are_those_of_the_census(name):
    """The nodes of a signature are what `inspect` counts for it, besides bodies of functions."""
    model = shared(name)
    graphs = ModelGraphs(model)
    data = graphs.document("main")
    parts = {(part["kind"], part["name"]): part["nodes"] for part in data["parts"]}
    assert set().union(*parts.values()) == set(range(len(data["names"])))
    signatures = set().union(*(nodes for (kind, _), nodes in parts.items() if kind == "signature"))
    others = [set(nodes) for (kind, _), nodes in parts.items() if kind != "signature"]
    assert sum(map(len, others)) + len(signatures) == len(data["names"])
    bodies = {node.op for f in model.graph.library.functions.values() for node in f}
    for signature, counts in count_ops(model, graph_outputs(model)).signatures.items():
        ops = {data["ops"][data["op"][place]] for place in parts["signature", signature]}
        starts = graph_outputs(model).signature if not signature else model.signatures[signature]
        assert ops - {value.node.op for value in model.starts_of(starts)} <= set(counts) <= ops | bodies
