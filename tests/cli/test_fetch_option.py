"""`--fetch` and `--feed` in the commands that can be asked about tensors instead of signatures."""

import json

import pytest
from tests.recorded_models import graph

import tfport
from tfport.cli.main import main
from tfport.graph.build import graph_to_def

TEXT = """
    x = Placeholder() {dtype=float32, shape=(2,)}
    unused = Placeholder() {dtype=float32, shape=(2,)}
    y = Neg(x) {T=float32}
    z = Abs(y) {T=float32}
    lost = AcmeLost(z, unused)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "graph.pb"
    path.write_bytes(graph_to_def(graph(TEXT)).SerializeToString())
    return str(path)


def document(capsys, *arguments):
    code = main([*arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


def test_check_asks_about_fetched_tensors(model, capsys):
    code, report = document(capsys, "check", model, "--on", "tfport", "--fetch", "z")
    assert (code, report["verdict"], report["fetched"]["fetches"]) == (0, "runs", ["z:0"])
    code, report = document(capsys, "check", model, "--on", "tfport")
    assert (code, report["verdict"], report["fetched"]["guessed"]) == (1, "fails", True)


def test_matrix_and_inspect_take_fetched_and_fed_tensors(model, capsys):
    options = ("--fetch", "z:0", "--feed", "y")
    _, matrix = document(capsys, "matrix", model, *options, "--since", "2.21")
    _, inspection = document(capsys, "inspect", model, *options)
    assert matrix["fetched"] == inspection["fetched"]
    assert inspection["fetched"]["feeds"] == ["y:0"]
    assert inspection["outputs"] == ["z"]
    assert inspection["ops"]["signatures"] == {"": {"Abs": 1}}


def test_run_needs_only_the_inputs_of_what_is_fetched(model, capsys):
    assert main(["run", model, "--fetch", "z", "--input", "x=[1, -2]"]) == 0
    assert main(["run", model, "--fetch", "z", "--input", "y=[1, -2]"]) == 0  # any tensor can be fed
    assert main(["run", model, "--fetch", "z", "--input", "x=[1, 2]", "--input", "unused=[1, 2]"]) == 0


def test_fix_writes_what_the_fetched_tensors_need(model, tmp_path, capsys):
    out = str(tmp_path / "out.pb")
    assert main(["fix", model, "--for", "tensorflow==2.21.0", "--fetch", "z", "-o", out]) == 0
    assert set(tfport.load(out).graph.nodes) == {"x", "y", "z"}
    fed = str(tmp_path / "fed.pb")
    options = ["--fetch", "z", "--feed", "y"]
    assert main(["fix", model, "--for", "tensorflow==2.21.0", *options, "-o", fed]) == 0
    assert {node.op for node in tfport.load(fed).graph} == {"Placeholder", "Abs"}


def test_an_unknown_tensor_is_one_sentence(model, capsys):
    assert main(["check", model, "--on", "tfport", "--fetch", "nothing"]) == 2
    assert "there is no tensor `nothing` to fetch" in capsys.readouterr().err
