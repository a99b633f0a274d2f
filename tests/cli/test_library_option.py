"""`--library FILE.so` of a library that tfport itself loads: run loads it, check reads it."""

import json
from pathlib import Path

import pytest
from tests.built_ops import library, needs_compiler
from tests.recorded_models import graph

import tfport
from tfport.cli.main import main
from tfport.graph.build import graph_to_def

pytestmark = needs_compiler
OF_TENSORFLOW = "tests/libraries/for_2_16_2/op.so"


@pytest.fixture
def model(tmp_path):
    lines = "x = Placeholder() {dtype=float32, shape=(?,)}\ny = Native>Scale(x) {T=float32, by=2.0}"
    path = tmp_path / "m.pb"
    path.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    return str(path)


def test_check_adds_its_ops_to_the_target_tfport(model, capsys):
    assert main(["check", model, "--on", "tfport"]) == 1
    assert main(["check", model, "--on", "tfport", "--library", library("ops")]) == 0
    assert tfport.check(model, on="tfport", libraries=[library("ops")]).verdict == "runs"
    capsys.readouterr()


def test_run_loads_the_library(model, capsys):
    assert main(["run", model, "--input", "x=[1, 2]", "--library", library("ops"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outputs"]["y"]["value"] == [2.0, 4.0]


def test_serve_loads_the_library(tmp_path):
    pytest.importorskip("aiohttp", reason="pip install tfport[serve]")
    from tests.serve.models.exports import export, saved_model
    from tests.serve.process import command, refused, until

    lines = """
        x = Placeholder() {dtype=float32, shape=(?)}
        y = Native>Scale(x) {T=float32, by=2.0}
        z = Identity(y) {T=float32}
    """
    export(tmp_path / "m", 1, saved_model(lines, {"serving_default": "z:0"}))
    with command(tmp_path / "m", f"--library={library('ops')}") as running:
        assert running.predict(1, 2) == (200, {"predictions": [2.0, 4.0]})
        until(lambda: "serving_default: runs" in running.output)
    code, error = refused(tmp_path / "m", "--library=no.so", "--port=-1", "--rest_api_port=-1")
    assert (code, error.count("\n")) == (2, 0)
    assert "no.so" in error


def test_a_library_for_tensorflow_adds_nothing_to_the_target_tfport(tmp_path):
    path = tmp_path / "m.pb"
    lines = "x = Placeholder() {dtype=float32, shape=(?,)}\ny = AcmeCopy(x) {T=float32}"
    path.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    report = tfport.check(str(path), on="tfport", libraries=[OF_TENSORFLOW])
    assert report.verdict == "fails"
    assert "a TensorFlow library, which tfport does not load" in " ".join(str(report).split())


def test_help_and_documentation_agree_that_check_never_loads_a_library(capsys):
    with pytest.raises(SystemExit):
        main(["check", "--help"])
    help_text = " ".join(capsys.readouterr().out.split())
    page = (Path(__file__).parents[2] / "docs/commands/check.md").read_text()
    for text in (help_text, page):
        assert "loaded first" not in text
        assert "never loads it" in text
