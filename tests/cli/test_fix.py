"""`tfport fix`: written files, output, exit codes; no partial files, no overwriting."""

import json
import shlex

import numpy as np
import pytest
from tests.recorded_models import graph, path_of

import tfport
from tfport.cli.main import main
from tfport.graph.build import graph_to_def

ATTENTION = "examples/attention"


def fix(*words):
    return main(["fix", *map(str, words)])


def written(folder):
    return sorted(path.name for path in folder.iterdir())


def frozen(tmp_path, lines):
    path = tmp_path / "m.pb"
    path.write_bytes(graph_to_def(graph(lines)).SerializeToString())
    return path


def test_a_model_is_written_with_its_certificate(tmp_path, capsys):
    out = tmp_path / "out" / "1"
    assert fix(ATTENTION, "--for", "tensorflow==1.13.2", "-o", out) == 0
    text = capsys.readouterr().out
    assert "outputs agree on" in text
    assert "broadcast" in text
    assert written(tmp_path / "out") == ["1", "1.certificate.html", "1.certificate.json"]
    paper = json.loads((tmp_path / "out/1.certificate.json").read_text())
    assert (paper["version"], paper["verdict"], paper["target"]) == (1, "alike", "tensorflow==1.13.2")
    assert paper["output"]["path"] == str(out)
    assert len(paper["input"]["sha256"]) == len(paper["output"]["sha256"]) == 64
    assert main(["check", str(out), "--on", "tensorflow==1.13.2"]) == 0
    words = [["river", "rises"]]
    before, after = (
        tfport.Session(path).signature("serving_default")(words=words) for path in (ATTENTION, out)
    )
    np.testing.assert_allclose(after["scores"], before["scores"], rtol=1e-6)


def test_the_result_as_json(tmp_path, capsys):
    out = tmp_path / "m"
    assert fix(ATTENTION, "--for", "tensorflow==1.13.2", "-o", out, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["version"], document["verdict"], document["output"]) == (1, "fixed", str(out))
    assert {rule["keeps"] for rule in document["rules"]} == {"exact"}
    assert document["certificate"]["verdict"] == "alike"


def test_remaining_findings_are_listed_and_nothing_is_written(tmp_path, capsys):
    model = frozen(tmp_path, "x = Placeholder() {dtype=string, shape=()}\ny = Acme>Tokenize(x)")
    assert fix(model, "--for", "tensorflow==1.15.5", "-o", tmp_path / "out.pb") == 1
    text = capsys.readouterr().out
    assert "there is no rule for it" in text
    assert "Acme>Tokenize" in text
    assert "nothing was written" in text
    assert written(tmp_path) == ["m.pb"]


def test_a_frozen_graph_stays_a_frozen_graph(tmp_path, capsys):
    model = frozen(tmp_path, "x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = AddV2(x, x) {T=float32}")
    assert fix(model, "--for", "tensorflow==1.4.1", "-o", tmp_path / "out.pb") == 0
    assert [node.op for node in tfport.load(tmp_path / "out.pb").graph] == ["Placeholder", "Add"]
    capsys.readouterr()


def test_a_model_that_already_runs_is_written_unchanged(tmp_path, capsys):
    out = tmp_path / "m"
    assert fix(ATTENTION, "--for", "tensorflow==2.8.4", "-o", out) == 0
    assert "no rule was needed" in capsys.readouterr().out


def test_rules_of_the_user_come_first(tmp_path, capsys):
    model = frozen(tmp_path, "x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = AddV2(x, x) {T=float32}")
    rules = tmp_path / "mine.py"
    rules.write_text(
        "from tfport.fix.rule import EXACT, rule\n"
        "@rule('AddV2', keeps=EXACT)\n"
        "def doubled(op, n):\n    'Twice.'\n    return op.Mul(n.inputs[0], 2.0)\n"
    )
    assert fix(model, "--for", "tensorflow==1.4.1", "-o", tmp_path / "out.pb", "--rules", rules) == 0
    assert "doubled: Twice." in capsys.readouterr().out
    assert "Mul" in {node.op for node in tfport.load(tmp_path / "out.pb").graph}


TRIPLED = """
from tfport.fix.rule import EXACT, rule
@rule("AddV2", keeps=EXACT)
def tripled(op, n):
    "Three times, which is wrong."
    return op.Mul(n.inputs[0], 3.0)
"""
REAL, TEXT = (
    "x = Placeholder() {dtype=float32, shape=(?, 3)}\ny = AddV2(x, x) {T=float32}",
    """
x = Placeholder() {dtype=string, shape=(?,)}
n = StringToNumber(x) {out_type=float32}
y = AddV2(n, n) {T=float32}""",
)


@pytest.mark.parametrize(
    ("lines", "inputs"), [(REAL, {"x": np.float32([[1, 2, 3]])}), (TEXT, {"x": [b"7\0"]})]
)
def test_a_difference_can_be_reproduced(tmp_path, capsys, lines, inputs):
    model, rules, folder = frozen(tmp_path, lines), tmp_path / "wrong.py", tmp_path / "why"
    rules.write_text(TRIPLED)
    target = ["--for", "tensorflow==1.4.1", "-o", tmp_path / "out.pb", "--rules", rules]
    assert fix(model, *target, "--keep-failure", folder) == 1
    printed = capsys.readouterr()
    assert "where they differ" in printed.out
    assert "nothing was written" in printed.out
    assert "`tfport fix --atol X` allows larger differences" in printed.out
    assert sorted(path.stem for path in folder.iterdir()) == ["answer", "expected", "inputs", "model"]
    assert not (tmp_path / "out.pb").exists()
    answers = []
    for command in printed.err.strip().splitlines()[1:]:
        _, *words = shlex.split(command)
        assert main([*words, "--json"]) == 0
        answers.append(np.array(json.loads(capsys.readouterr().out)["outputs"]["y"]["value"]))
    np.testing.assert_allclose(answers[1], 1.5 * answers[0])
    with np.load(folder / "expected.npz") as expected, np.load(folder / "answer.npz") as answer:
        np.testing.assert_allclose([expected["y"], answer["y"]], answers, rtol=1e-6)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere", "--for", "tensorflow==1.15.5"], "nowhere"),
        ([ATTENTION, "--for", "tensorflow==0.1"], "tensorflow 0.1 is not recorded"),
        ([ATTENTION, "--for", "tensorflow>=1.4,<1.6"], "expected one"),
        ([ATTENTION, "--for", "tfport"], "runs models without a rewrite"),
        ([ATTENTION, "--for", "tflite-converter==2.21.0"], "converts models and runs none"),
        ([ATTENTION, "--for", "tensorflow==1.15.5", "--signature", "nonsense"], "nonsense"),
        ([ATTENTION, "--for", "tensorflow==1.15.5", "--rules", "nowhere.py"], "nowhere.py"),
        ([ATTENTION, "--for", "tensorflow==1.15.5", "--inputs", "nowhere.npz"], "nowhere.npz"),
        ([path_of("checkpoint_of_objects"), "--for", "tensorflow==1.15.5"], "without a graph"),
        (["tests/broken/files/cut_graph.pb", "--for", "tensorflow==1.15.5"], "cut short"),
    ],
)
def test_an_error_is_one_sentence(tmp_path, capsys, words, sentence):
    assert fix(*words, "-o", tmp_path / "out") == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not written(tmp_path)


def test_certificates_of_the_same_name_are_noticed_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tfport, "load", lambda *_, **__: pytest.fail("it was loaded"))
    (tmp_path / "out.certificate.json").write_text("{}")
    assert fix(ATTENTION, "--for", "tensorflow==1.13.2", "-o", tmp_path / "out") == 2
    (tmp_path / "out.tflite.certificate.html").write_text("")
    assert main(["export", ATTENTION, "-o", str(tmp_path / "out.tflite")]) == 2
    monkeypatch.setattr("tfport.cli.onnx_export.load_whole_model", lambda _: pytest.fail("it was loaded"))
    (tmp_path / "out.onnx.certificate.html").write_text("")
    assert main(["export", ATTENTION, "-o", str(tmp_path / "out.onnx"), "--weights", "float16"]) == 2
    assert capsys.readouterr().err.count("already exists") == 3


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "out").mkdir()
    assert fix(ATTENTION, "--for", "tensorflow==1.13.2", "-o", tmp_path / "out") == 2
    assert "already exists" in capsys.readouterr().err
    assert written(tmp_path) == ["out"]


def test_a_model_whose_answers_were_not_compared_is_not_written(tmp_path, capsys):
    out = tmp_path / "out"
    assert fix(path_of("defun"), "--for", "tensorflow==2.8.4", "-o", out) != 0
    assert "not compared" in capsys.readouterr().out
    assert not written(tmp_path)
