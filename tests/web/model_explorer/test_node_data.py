"""Node data for Model Explorer: findings and times, by the names of graphs and nodes."""

import json
from pathlib import Path

import pytest
from tests.recorded_models import path_of

import tfport
from tfport.cli.main import main
from tfport.web.graph_view.graphs import ModelGraphs
from tfport.web.model_explorer.node_data import COLORS
from tfport.web.model_explorer.shown_graphs import ShownGraphs

EXAMPLES = Path(__file__).parents[3] / "examples"
ATTENTION, WAKE_WORD = str(EXAMPLES / "attention"), str(EXAMPLES / "wake_word.tflite")
OLD = ["--on", "tensorflow==1.13.2"]


def nodes_by_graph(path):
    """The names of nodes by the names of graphs, as the adapter gives them."""
    shown = ShownGraphs(ModelGraphs(tfport.load(path)))
    return {shown.names[id]: set(family.columns(id).names) for id, (family, _) in shown.graphs.items()}


def written(file, path):
    """The file, whose graphs and nodes are those of the model."""
    document = json.loads(file.read_text())
    known = nodes_by_graph(path)
    for graph, data in document.items():
        assert set(data["results"]) <= known[graph]
    return document


def test_check_writes_its_findings_by_node(tmp_path, capsys):
    file = tmp_path / "findings.json"
    assert main(["check", ATTENTION, *OLD, "--node-data", str(file)]) == 1
    assert "error[TFP101]" in capsys.readouterr().out
    (data,) = written(file, ATTENTION).values()
    assert data["name"] == "tfport check on tensorflow 1.13.2"
    assert set(data["results"]) == {"MatMul", "MatMul_1", "MatMul_2", "MatMul_3", "MatMul_4"}
    assert data["results"]["MatMul"] == {
        "value": "TFP101: op `BatchMatMulV2` is not registered in tensorflow 1.13.2",
        "bgColor": COLORS["error"],
    }


def test_a_node_has_the_findings_of_all_targets(tmp_path):
    file = tmp_path / "findings.json"
    main(["check", ATTENTION, "--on", "tensorflow==1.12.0", "tensorflow==1.13.2", "--node-data", str(file)])
    data = written(file, ATTENTION)["main"]
    assert data["name"] == "tfport check on tensorflow 1.12.0, tensorflow 1.13.2"
    texts = data["results"]["MatMul"]["value"].split("; ")
    assert [text.rpartition(" ")[2] for text in texts] == ["1.12.0", "1.13.2"]


def test_findings_of_a_lite_file_are_at_its_operators(tmp_path):
    file = tmp_path / "findings.json"
    assert main(["check", WAKE_WORD, *OLD, "--node-data", str(file)]) == 1
    results = written(file, WAKE_WORD)["main"]["results"]
    assert all(result["value"].startswith("TFP803: op GELU") for result in results.values())
    assert len(results) == 2


def test_a_model_that_runs_has_an_empty_entry(tmp_path):
    file = tmp_path / "findings.json"
    file.write_text("replaced")
    assert main(["check", ATTENTION, "--on", "tensorflow==2.21.0", "--node-data", str(file)]) == 0
    assert written(file, ATTENTION)["main"]["results"] == {}
    assert [path.name for path in tmp_path.iterdir()] == ["findings.json"]


@pytest.mark.parametrize("format", ["json", "sarif", "junit", "markdown"])
def test_other_reports_are_as_without_it(tmp_path, capsys, format):
    file = tmp_path / "findings.json"
    main(["check", ATTENTION, *OLD, "--format", format])
    expected = capsys.readouterr().out
    main(["check", ATTENTION, *OLD, "--format", format, "--node-data", str(file)])
    assert capsys.readouterr().out == expected
    assert "MatMul" in file.read_text()


def test_findings_are_of_one_model(tmp_path, capsys):
    file = tmp_path / "findings.json"
    assert main(["check", ATTENTION, WAKE_WORD, *OLD, "--node-data", str(file)]) == 2
    assert capsys.readouterr().err == (
        "tfport: --node-data is about one model; check the models one at a time\n"
    )
    assert not file.exists()


def test_bench_writes_the_times_of_nodes(tmp_path, capsys):
    file, path = tmp_path / "times.json", path_of("keras_lstm")
    assert main(["bench", path, "--profile", "--seconds", "0", "--node-data", str(file)]) == 0
    assert "in the engine" in capsys.readouterr().out
    document = written(file, path)
    assert all(data["name"].startswith("tfport bench: ms of serving_default") for data in document.values())
    assert all(result["value"] > 0 for data in document.values() for result in data["results"].values())
    assert "__inference___call___1618" in document
    assert [item["stop"] for item in document["__inference___call___1618"]["gradient"]] == [0, 1]


def test_times_are_of_one_batch_size(tmp_path, capsys):
    file = tmp_path / "times.json"
    assert main(["bench", ATTENTION, "--batch", "1,2", "--node-data", str(file)]) == 2
    assert capsys.readouterr().err == "tfport: --node-data is about one batch size; expected --batch N\n"
    assert not file.exists()
