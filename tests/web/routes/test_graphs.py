"""Graphs of the API: the list, columns, and nodes in detail."""

from tests.recorded_models import path_of
from tests.web.ui_client import running

from tfport.formats.proto.graph_pb2 import GraphDef


def test_the_graphs_of_a_model_with_functions(ui):
    model = ui.open(path_of("keras_lstm"))
    graphs = ui.get(f"/models/{model}/graphs").json["graphs"]
    assert graphs[0] == {
        "id": "main", "name": "", "kind": "graph", "nodes": graphs[0]["nodes"], "callers": 0,
        "signatures": ["serve", "serving_default"],
    }  # fmt: skip
    kinds = {graph["kind"] for graph in graphs}
    assert kinds == {"graph", "function", "loop"}
    for summary in graphs:
        data = ui.graph(model, summary["id"])
        assert (data["name"], data["kind"]) == (summary["name"], summary["kind"])
        assert len(data["names"]) == summary["nodes"]


def test_every_node_of_a_graph_has_details(ui):
    model = ui.open(path_of("conditions"))
    for summary in ui.get(f"/models/{model}/graphs").json["graphs"]:
        data = ui.graph(model, summary["id"])
        for place, name in enumerate(data["names"]):
            details = ui.node(model, summary["id"], name)
            assert (details["node"], details["op"]) == (name, data["ops"][data["op"][place]])
            assert details["role"] == data["role"][place]


def test_unknown_ids_are_answered_with_404(ui):
    model = ui.open(path_of("conditions"))
    for path in (
        "/models/0123456789abcdef/inspect",
        "/models/0123456789abcdef/graphs",
        f"/models/{model}/graphs/f99",
        f"/models/{model}/graphs/main/node?name=nobody",
        f"/models/{model}/graphs/main/node",
        f"/models/{model}/nothing",
        "/nothing",
    ):
        answer = ui.get(path)
        assert answer.status == 404, path
        assert answer.error


HOSTILE = [
    "<script>alert(1)</script>",
    "abc\u202edef\u200f",
    "n" * 10_000,
    "..",
    "%2e%2e/%00",
    "a b\tc\n",
    "☃",
]


def test_hostile_names_come_back_as_they_are(tmp_path):
    graph = GraphDef()
    for name in HOSTILE:
        node = graph.node.add(name=name, op="<img src=x onerror=alert(1)>")
        node.attr["<b>"].s = b"\xff\x00</script>"
    (tmp_path / "hostile.pb").write_bytes(graph.SerializeToString())
    with running(allow=(str(tmp_path),)) as client:
        model = client.open(tmp_path / "hostile.pb")
        assert client.graph(model)["names"] == HOSTILE
        assert [client.node(model, "main", name)["node"] for name in HOSTILE] == HOSTILE
        found = client.get(f"/models/{model}/search?q=%3Cscript").json["matches"]
        assert found == [{"graph": "main", "node": HOSTILE[0]}]
        answer = client.get(f"/models/{model}/inspect")
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
