"""`tfport run`: inputs from values and files, outputs as text, JSON and .npz, errors."""

import json

import numpy as np
import pytest
from tests.hostile_models import ENDLESS
from tests.recorded_models import graph, path_of

from tfport.cli.main import main
from tfport.graph.build import graph_to_def

MODULE = path_of("module")


def run(capsys, *args):
    code = main(["run", *args])
    out, err = capsys.readouterr()
    return code, out, err


def test_outputs_are_printed(capsys):
    code, out, err = run(capsys, MODULE, "--input", "x=[[1, 2]]")
    assert (code, err) == (0, "")
    assert out.split() == ["y", "float32", "(1,", "3)", "[[", "6.,", "10.,", "14.]]"]


def test_outputs_as_json(capsys):
    _, out, _ = run(capsys, MODULE, "--input", "x=[[1, 2]]", "--json")
    document = json.loads(out)
    assert document["version"] == 1
    assert document["outputs"] == {"y": {"dtype": "float32", "shape": [1, 3], "value": [[6.0, 10.0, 14.0]]}}


def test_arrays_are_read_from_files_and_written_to_one(capsys, tmp_path):
    np.save(tmp_path / "x.npy", np.float32([[1, 2]]))
    np.savez(tmp_path / "in.npz", x=np.float32([[1, 2]]))
    for options in (["--input", f"x=@{tmp_path}/x.npy"], ["--inputs", str(tmp_path / "in.npz")]):
        out = tmp_path / f"{options[0]}.npz"
        assert run(capsys, MODULE, *options, "-o", str(out)) == (0, "", "")
        with np.load(out) as file:
            assert file["y"].tolist() == [[6, 10, 14]]


def test_with_a_cache_the_second_run_gives_the_same_answer(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path))
    command = [path_of("keras_sequential"), "--input", "x=[[1, 2, 3]]"]
    first = run(capsys, *command, "--cache")
    assert first == run(capsys, *command)
    assert len(list(tmp_path.glob("plans/*/*/plan.json"))) == 1
    assert run(capsys, *command, "--cache") == first


def test_strings_are_text_and_other_bytes_base64(capsys, tmp_path):
    lines = "x = Placeholder() {dtype=string, shape=(?,)}\ny = Identity(x) {T=string}\nz = StringUpper(y)"
    model = tmp_path / "m.pb"
    model.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    (tmp_path / "blob").write_bytes(b"\xff\x00")
    _, out, _ = run(capsys, str(model), "--input", "x=it's", "--json")
    assert json.loads(out)["outputs"]["z"]["value"] == ["IT'S"]
    _, out, _ = run(capsys, str(model), "--input", f"x=@{tmp_path}/blob", "--fetch", "y", "--json")
    assert json.loads(out)["outputs"]["y"]["value"] == [{"b64": "/wA="}]


ECHO = "x = Placeholder() {dtype=string, shape=(?,)}\ny = Identity(x) {T=string}"
STRINGS = [  # text, and what `y` is or the end of the sentence
    ("[a] b", ["[a] b"]),
    ('["a", "b"]', ["a", "b"]),
    ('["a"', """found '["a"', which ends early: after character 4"""),
    ('["a" "b"]', """found '["a" "b"]', which is wrong at character 6"""),
]


@pytest.mark.parametrize(("text", "expected"), STRINGS)
def test_text_that_begins_as_json_is_json(capsys, tmp_path, text, expected):
    model = tmp_path / "m.pb"
    model.write_bytes(graph_to_def(graph(ECHO)).SerializeToString())
    _, out, err = run(capsys, str(model), "--input", f"x={text}", "--fetch", "y", "--json")
    if isinstance(expected, str):
        assert err.strip().endswith(expected)
    else:
        assert json.loads(out)["outputs"]["y"]["value"] == expected


INPUT_FILES = [  # what, how it is written
    ("strings as objects", lambda path: np.savez(path, x=np.array(["a", "é"], object))),
    ("bytes as objects", lambda path: np.savez(path, x=np.array([b"a", "é".encode()], object))),
    ("text", lambda path: np.savez(path, x=np.array(["a", "é"]))),
    ("JSON", lambda path: path.write_text('{"x": ["a", {"b64": "w6k="}]}')),
    ("a list of one", lambda path: path.write_text('[{"x": ["a", "é"]}]')),
]


@pytest.mark.parametrize("write", [c[1] for c in INPUT_FILES], ids=[c[0] for c in INPUT_FILES])
def test_strings_are_read_from_files(capsys, tmp_path, write):
    model = tmp_path / "m.pb"
    model.write_bytes(graph_to_def(graph(ECHO)).SerializeToString())
    inputs = tmp_path / ("in.json" if write.__code__.co_names == ("write_text",) else "in.npz")
    write(inputs)
    _, out, _ = run(capsys, str(model), "--inputs", str(inputs), "--fetch", "y", "--json")
    assert json.loads(out)["outputs"]["y"]["value"] == ["a", "é"]


NO_INPUTS = [  # content of in.json, sentence
    ("{", "not JSON"),
    ("[1]", "expected an object with values by input name, or a list of such objects"),
    ('[{"x": [1]}, {"x": [2]}]', "expected the inputs of one call, found 2"),
    ('{"x": [{"b64": "?"}]}', '`x`: expected numbers, strings or {"b64": "…"}, found an object'),
    ('{"x": [{"y": 1}]}', '`x`: expected numbers, strings or {"b64": "…"}, found an object'),
]


@pytest.mark.parametrize(("content", "sentence"), NO_INPUTS)
def test_other_json_is_refused(capsys, tmp_path, content, sentence):
    (tmp_path / "in.json").write_text(content)
    code, _, err = run(capsys, MODULE, "--inputs", str(tmp_path / "in.json"))
    assert code == 2
    assert sentence in err


WRONG = [
    (["--input", "x"], "--input x: expected name=VALUE or name=@file.npy"),
    (["--input", "z=1"], "--input z: unknown input; the inputs of serving_default are: x"),
    (["--input", "x=one"], "--input x: expected float32 as JSON, such as [1, 2], found 'one'"),
    (
        ["--input", "x=[[1, 2"],
        "--input x: expected float32 as JSON, such as [1, 2], found '[[1, 2', "
        "which ends early: after character 6",
    ),
    (
        ["--input", "x=[[1], [1, 2]]"],
        "`x` must be a rectangular float32 array, got nested lists of different lengths",
    ),
    (["--input", "x=@nowhere.npy"], "nowhere.npy: no such file or directory"),
    ([], "signature serving_default: `x` is missing; its inputs are x (float32 (?, 2))"),
    (["--input", "x=[1, 2]"], "input `x` must have shape (?, 2), got (2,)"),
    (["--signature", "other"], f"{MODULE}: no signature `other`; signatures: back, serving_default"),
]


@pytest.mark.parametrize(("args", "sentence"), WRONG)
def test_invalid_inputs_are_one_sentence(capsys, args, sentence):
    code, out, err = run(capsys, MODULE, *args)
    assert (code, out) == (2, "")
    assert err.strip().lower() == f"tfport: {sentence}".lower()


VALUES = [  # dtype, value, and the output or the error
    ("uint8", "[255]", [255]),
    ("uint8", "[300]", "`x` must be uint8 (0 to 255), got 300"),
    ("int32", "[2147483648]", "`x` must be int32 (-2147483648 to 2147483647), got 2147483648"),
    ("int32", "[1.5]", "`x` must be int32, got float64"),
    (
        "int32",
        "[[1], [1, 2]]",
        "`x` must be a rectangular int32 array, got nested lists of different lengths",
    ),
    ("int32", '{"a": 1}', "`x` must be int32, got {'a': 1}"),
    ("float32", '["a"]', "`x` must be float32, got strings"),
    ("bool", "[true]", [True]),
    ("complex64", "[1.5]", [[1.5, 0.0]]),
    ("complex64", '["a"]', "`x` must be complex64, got strings"),
]


@pytest.mark.parametrize(("dtype", "value", "result"), VALUES)
def test_a_value_is_converted_without_loss_or_refused(dtype, value, result, tmp_path, capsys):
    lines = f"x = Placeholder() {{dtype={dtype}, shape=(...)}}\ny = Identity(x) {{T={dtype}}}"
    model = tmp_path / "m.pb"
    model.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    code, out, err = run(capsys, str(model), "--input", f"x={value}", "--json")
    if isinstance(result, str):
        assert (code, out, err) == (2, "", f"tfport: {result}\n")
    else:
        assert (code, json.loads(out)["outputs"]["y"]["value"], err) == (0, result, "")


def test_a_file_without_arrays_is_an_error(capsys, tmp_path):
    (tmp_path / "x.npy").write_text("no array")
    (tmp_path / "x.npz").write_text("no arrays")
    for options in (["--input", f"x=@{tmp_path}/x.npy"], ["--inputs", str(tmp_path / "x.npz")]):
        code, _, err = run(capsys, MODULE, *options)
        assert code == 2
        assert "not a .npy file" in err or "not an .npz file" in err


def test_a_run_that_takes_too_long_is_stopped(capsys, tmp_path):
    model = tmp_path / "m.pb"
    model.write_bytes(graph_to_def(graph(ENDLESS["While, island"])).SerializeToString())
    code, out, err = run(capsys, str(model), "--input", "x=[1]", "--fetch", "y:0", "--timeout", "0.1")
    assert (code, out) == (2, "")
    assert err == "tfport: the run was stopped after 0.1 seconds\n"


def test_a_repeated_run_is_timed(capsys):
    _, out, _ = run(capsys, MODULE, "--input", "x=[[1, 2]]", "--repeat", "3", "--json")
    document = json.loads(out)
    assert len(document["all_seconds"]) == 3
    assert document["seconds"] == document["all_seconds"][0] > 0
    code, _, err = run(capsys, MODULE, "--input", "x=[[1, 2]]", "--repeat", "0")
    assert (code, err) == (2, "tfport: --repeat 0: expected a number of at least 1\n")
