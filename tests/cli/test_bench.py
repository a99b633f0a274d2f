"""`tfport bench`: a row for each contender and batch size."""

import json

import pytest
from tests.api.json_schema import misfits
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main

MODULE = path_of("module")


def test_bench_measures_each_batch(capsys):
    assert main(["bench", MODULE, "--batch", "1,2", "--seconds", "0.03", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert misfits(document, "bench") == []
    assert {(row["contender"], row["batch"]) for row in document["rows"]} >= {("tfport", 1), ("tfport", 2)}
    assert all(row["latency_ms"] > 0 and row["first_answer_s"] > 0 for row in document["rows"])


def test_bench_rejects_an_invalid_batch(capsys):
    assert main(["bench", MODULE, "--batch", "0"]) == 2
    assert capsys.readouterr().err == "tfport: --batch 0: expected positive sizes, such as 1,8\n"


def test_bench_shows_where_the_time_goes(capsys):
    assert main(["bench", MODULE, "--profile", "--engine-ops", "--seconds", "0"]) == 0
    text = capsys.readouterr().out
    assert all(len(line) <= 80 for line in text.splitlines())
    for part in ("islands  in the engine", "host     host steps in NumPy", "copies ", "other ", "thread"):
        assert part in text
    for op in ("MatMul, AddV2", "ONNX Gemm", "AssignAddVariableOp"):
        assert op in text
    assert text.index("passes, in order") < text.index("layer_norm") < text.index("equal_nodes")


def test_the_profile_in_json(capsys):
    assert main(["bench", MODULE, "--profile", "--batch", "1,2", "--seconds", "0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["version"] == 1
    assert [row["batch"] for row in document["profiles"]] == [1, 2]
    profile = document["profiles"][0]
    assert set(profile["parts_ms"]) == {"islands", "host", "copies", "other"}
    assert profile["islands"][0]["ops"] == {"MatMul": 1, "AddV2": 1}
    assert [(step["op"], step["calls"]) for step in profile["host"]] == [("AssignAddVariableOp", 1)]
    assert profile["on_host_despite_lowering"] == []
    passes = {each["pass"]: each for each in profile["passes"]}
    assert set(passes["gelu"]) == {"pass", "what", "when", "graphs", "removed", "added"}
    assert passes["gelu"]["graphs"] == 1
    assert passes["reduced_precision"]["graphs"] == 0  # for GPUs


def test_a_graph_without_signatures_is_profiled(capsys):
    assert main(["bench", path_of("frozen"), "--profile", "--seconds", "0", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert misfits(document, "profile") == []
    assert (document["signature"], len(document["profiles"])) == ("graph", 1)


def test_a_node_on_the_host_is_reported_with_its_reason(capsys):
    strings = path_of("strings")
    assert main(["bench", strings, "--profile", "--input", 'lines=["a b"]', "--seconds", "0", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)["profiles"][0]
    assert all(node["reason"] and node["op"] for node in profile["on_host_despite_lowering"])
    assert main(["bench", strings, "--profile", "--input", 'lines=["a b"]', "--seconds", "0"]) == 0
    text = capsys.readouterr().out
    assert all(len(line) <= 80 for line in text.splitlines())
    assert ("on the host, although" in text) == bool(profile["on_host_despite_lowering"])


def test_each_node_of_the_model_is_somewhere(capsys):
    """Every node with a time is a node of the model; what an island or the host runs has a time."""
    model = tfport.load(MODULE)
    assert main(["bench", MODULE, "--profile", "--nodes", "--seconds", "0", "--json"]) == 0
    profile = json.loads(capsys.readouterr().out)["profiles"][0]
    for node in profile["nodes"]:
        functions = model.graph.library.functions
        body = functions[node["function"]] if node["function"] else model.graph
        assert body[node["node"]].op == node["op"]
    where = {node["op"]: node["where"] for node in profile["nodes"]}
    assert (where["MatMul"], where["AddV2"], where["AssignAddVariableOp"]) == (0, 0, "host")
    (host,) = [node for node in profile["nodes"] if node["where"] == "host" and node["calls"]]
    assert (host["op"], host["reason"]) == ("AssignAddVariableOp", "ONNX has no such op")
    island = sum(node["ms"] for node in profile["nodes"] if node["where"] == 0)
    assert island == pytest.approx(profile["islands"][0]["ms"])


def test_the_nodes_of_loops_and_their_bodies(capsys):
    model = tfport.load(path_of("keras_lstm"))
    assert main(["bench", path_of("keras_lstm"), "--profile", "--nodes", "--seconds", "0", "--json"]) == 0
    nodes = json.loads(capsys.readouterr().out)["profiles"][0]["nodes"]
    timed = [node for node in nodes if node["ms"]]
    assert any(node["op"] in ("While", "StatelessWhile") for node in timed)
    functions = model.graph.library.functions
    for node in nodes:
        body = functions[node["function"]] if node["function"] else model.graph
        assert body.find(node["node"]).op == node["op"]
