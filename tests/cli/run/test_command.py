"""`tfport run`, `export` and `bench` as a person or a script meets them."""

import json
import re

import numpy as np
import pytest
from tests.recorded_models import path_of

from tfport.cli.main import main

MODULE = path_of("module")


def said(capsys, *args):
    code = main(["run", *args])
    out, err = capsys.readouterr()
    return code, out, err


def test_answers_are_shown(capsys):
    code, out, err = said(capsys, MODULE, "--input", "x=[[1, 2]]")
    assert (code, err) == (0, "")
    assert out.split() == ["y", "float32", "(1,", "3)", "[[", "6.,", "10.,", "14.]]"]


def test_answers_for_programs(capsys):
    _, out, _ = said(capsys, MODULE, "--input", "x=[[1, 2]]", "--json")
    told = json.loads(out)
    assert told["version"] == 1
    assert told["outputs"] == {"y": {"dtype": "float32", "shape": [1, 3], "value": [[6.0, 10.0, 14.0]]}}


def test_arrays_come_from_files_and_go_into_one(capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.float32([[1, 2]]))
    np.savez(tmp_path / "in.npz", x=np.float32([[1, 2]]))
    for given in (["--input", f"x=@{tmp_path}/x.npy"], ["--inputs", str(tmp_path / "in.npz")]):
        out = tmp_path / f"{given[0]}.npz"
        assert said(capsys, MODULE, *given, "-o", str(out)) == (0, "", "")
        with np.load(out) as file:
            assert file["y"].tolist() == [[6, 10, 14]]


def test_strings_are_text_and_bytes_that_are_none_are_base64(capsys, tmp_path):
    from tests.recorded_models import graph

    from tfport.graph.build import graph_to_def

    lines = "x = Placeholder() {dtype=string, shape=(?,)}\ny = Identity(x) {T=string}\nz = StringUpper(y)"
    model = tmp_path / "m.pb"
    model.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    (tmp_path / "blob").write_bytes(b"\xff\x00")
    _, out, _ = said(capsys, str(model), "--input", "x=it's", "--json")
    assert json.loads(out)["outputs"]["z"]["value"] == ["IT'S"]
    _, out, _ = said(capsys, str(model), "--input", f"x=@{tmp_path}/blob", "--fetch", "y", "--json")
    assert json.loads(out)["outputs"]["y"]["value"] == [{"b64": "/wA="}]


WRONG = [
    (["--input", "x"], "--input x: expected name=VALUE or name=@file.npy"),
    (["--input", "z=1"], "--input z: unknown input; the inputs of serving_default are: x"),
    (["--input", "x=one"], "--input x: expected float32 as JSON, such as [1, 2], found 'one'"),
    (["--input", "x=[[1], [1, 2]]"], "--input x: expected float32 (?, 2), found '[[1], [1, 2]]'"),
    (["--input", "x=@nowhere.npy"], "nowhere.npy: no such file or directory"),
    ([], "signature serving_default: `x` is missing; its inputs are x (float32 (?, 2))"),
    (["--input", "x=[1, 2]"], "`serving_default_x:0` must have shape (?, 2), got (2,)"),
    (["--signature", "other"], f"{MODULE}: no signature `other`; signatures: back, serving_default"),
]


@pytest.mark.parametrize(("args", "sentence"), WRONG)
def test_what_does_not_fit_is_one_sentence(capsys, args, sentence):
    code, out, err = said(capsys, MODULE, *args)
    assert (code, out) == (2, "")
    assert err.strip().lower() == f"tfport: {sentence}".lower()


def test_a_file_that_is_no_array_is_said(capsys, tmp_path):
    (tmp_path / "x.npy").write_text("no array")
    (tmp_path / "x.npz").write_text("no arrays")
    for given in (["--input", f"x=@{tmp_path}/x.npy"], ["--inputs", str(tmp_path / "x.npz")]):
        code, _, err = said(capsys, MODULE, *given)
        assert code == 2
        assert "not a .npy file" in err or "not an .npz file" in err


def test_export_says_what_it_wrote(capsys, tmp_path):
    model, path = path_of("keras_sequential"), tmp_path / "m.onnx"
    assert main(["export", model, "-o", str(path)]) == 0
    assert re.fullmatch(rf"{path}: \d+ nodes, validated\n", capsys.readouterr().out)
    assert main(["export", model, "-o", str(tmp_path / "n.onnx"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["version"], len(told["inputs"]), told["outputs"]) == (1, 1, ["output_0"])


def test_export_names_what_stays_on_the_host(capsys, tmp_path):
    assert main(["export", path_of("strings"), "-o", str(tmp_path / "m.onnx")]) == 2
    assert "stays out of ONNX" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_bench_measures_each_batch(capsys):
    assert main(["bench", MODULE, "--batch", "1,2", "--seconds", "0.03", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert {(row["contender"], row["batch"]) for row in told["rows"]} >= {("tfport", 1), ("tfport", 2)}
    assert all(row["latency_ms"] > 0 and row["first_answer_s"] > 0 for row in told["rows"])


def test_bench_refuses_no_batch(capsys):
    assert main(["bench", MODULE, "--batch", "0"]) == 2
    assert capsys.readouterr().err == "tfport: --batch 0: expected positive sizes, such as 1,8\n"


def test_ops_lists_what_tfport_runs(capsys):
    assert main(["ops", "--tfport", "Conv2D", "StringLower", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ops"] == [
        {"name": "Conv2D", "runs": ["onnx", "numpy"], "provider": None},
        {"name": "StringLower", "runs": ["numpy"], "provider": None},
    ]
    assert main(["ops", "--tfport", "NcclAllReduce"]) == 1
    assert capsys.readouterr().err == "tfport: NcclAllReduce has no kernel in tfport\n"
