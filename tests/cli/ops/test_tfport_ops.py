"""`tfport ops --tfport`: how tfport runs an op."""

import json
import shutil

import pytest
from tests.recorded_models import graph, path_of

from tfport.cli.main import main
from tfport.frontends.lite.definitions import lite_definitions
from tfport.graph.build import graph_to_def
from tfport.runtime.own_target import own_target


def test_ops_lists_how_tfport_runs_an_op(capsys):
    assert main(["ops", "--tfport", "Conv2D", "StringLower", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["ops"] == [
        {"name": "Conv2D", "runs": ["onnx", "numpy", "plan"], "provider": None},
        {"name": "StringLower", "runs": ["numpy"], "provider": None},
    ]
    assert main(["ops", "--tfport", "NcclAllReduce"]) == 1
    assert capsys.readouterr().err == "tfport: NcclAllReduce has no kernel in tfport\n"


def test_ops_counts_the_models_that_lack_an_op(tmp_path, capsys):
    lacking = graph("""
        x = Placeholder() {dtype=float32}
        y = NcclAllReduce(x) {reduction="sum", num_devices=1, shared_name="a"}
    """)
    (tmp_path / "lacking.pb").write_bytes(graph_to_def(lacking).SerializeToString())
    shutil.copy(path_of("frozen"), tmp_path / "frozen.pb")
    assert main(["ops", "--coverage", str(tmp_path), "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert (document["models"], document["runs"]) == (2, 1)
    assert document["ops"] == [{"name": "NcclAllReduce", "models": 1}]
    assert main(["ops", "--coverage", str(tmp_path / "frozen.pb")]) == 0
    assert "tfport runs  1 of 1 model" in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/saved_model.pb").touch()
    assert main(["ops", "--coverage", str(tmp_path)]) == 2
    text = capsys.readouterr().out
    assert "1  NcclAllReduce" in text
    assert "models that do not run  2" in text


def test_ops_counts_the_ops_of_a_package(capsys):
    assert main(["ops", "--package", "tensorflow-text", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "SentencepieceOp" in document["runs"]
    assert document["lacks"] == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--package", "nothing"], "no recorded build of `nothing` registers an op"),
        (["--package", "tensorflow-text", "--tfport"], "--coverage and --package stand alone"),
    ],
)
def test_mistakes_are_one_sentence(options, sentence, capsys):
    assert main(["ops", *options]) == 2
    assert sentence in capsys.readouterr().err


def test_tfport_has_its_kernels_for_tensorflow_lite_and_does_not_list_them(capsys):
    assert "LiteConv" in own_target().registry
    main(["ops", "--tfport", "--json"])
    listed = {op["name"] for op in json.loads(capsys.readouterr().out)["ops"]}
    assert "Conv2D" in listed
    assert not listed & lite_definitions().keys()
