"""Two models side by side: names are no difference, weights differ by value, formats may differ."""

import re
import shutil

import pytest
from tests.recorded_models import PROGRAMS, graph, load, path_of, shared

import tfport
from tfport.graph.difference import graph_difference
from tfport.graph.save import save_model


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_model_equals_itself(name):
    difference = tfport.diff(shared(name), load(name))
    assert difference.is_equal
    assert difference.exit_code == 0
    assert not difference.weights


def test_functions_that_were_numbered_anew_are_equal(tmp_path):
    """TensorFlow numbers functions at each save; the digits change in place here."""
    shutil.copytree(path_of("keras_lstm"), tmp_path / "again")
    file = tmp_path / "again" / "saved_model.pb"
    data = re.sub(
        rb"(?<=[a-z]_)(\d)(\d{2,})(?=\W)", lambda m: b"%d%s" % (9 - int(m[1]) or 1, m[2]), file.read_bytes()
    )
    assert data != file.read_bytes()
    file.write_bytes(data)
    difference = tfport.diff(path_of("keras_lstm"), tmp_path / "again")
    assert any(pair.a != pair.b for pair in difference.graphs)
    assert not difference.functions
    assert all(pair.difference.is_equal for pair in difference.graphs)


def saved(path, text):
    model = load("frozen")
    model.graph = graph(text)
    save_model(model, str(path))
    return path


MOVED = """
x = Placeholder() {dtype=float32}
w1 = Const() {dtype=float32, value=float32(2, 2)[1.0, 2.0, 3.0, 4.0]}
w2 = Const() {dtype=float32, value=float32(2, 2)[5.0, 6.0, 7.0, 8.0]}
MatMul = MatMul(x, w1) {T=float32}
MatMul_1 = MatMul(MatMul, w2) {T=float32}
"""
INSERTED = """
x = Placeholder() {dtype=float32}
w0 = Const() {dtype=float32, value=float32(2, 2)[9.0, 9.0, 9.0, 9.0]}
w1 = Const() {dtype=float32, value=float32(2, 2)[1.0, 2.0, 3.0, 4.0]}
w2 = Const() {dtype=float32, value=float32(2, 2)[5.0, 6.0, 7.0, 8.0]}
MatMul = MatMul(x, w0) {T=float32}
MatMul_1 = MatMul(MatMul, w1) {T=float32}
MatMul_2 = MatMul(MatMul_1, w2) {T=float32}
"""


def test_nodes_are_matched_by_their_weights_where_names_have_moved():
    difference = graph_difference(graph(MOVED), graph(INSERTED))
    assert sorted(difference.added) == ["MatMul", "w0"]
    assert difference.gone == []
    assert [(a, b) for a, b, _ in difference.changed] == [("MatMul", "MatMul_1")]
    assert difference.renamed == [("MatMul_1", "MatMul_2")]


def test_a_large_constant_differs_after_the_elements_that_are_shown():
    text = "w = Const() {{dtype=float32, value=float32(20,)[{}]}}"
    numbers = [f"{number}.0" for number in range(20)]
    a, b = graph(text.format(", ".join(numbers))), graph(text.format(", ".join([*numbers[:-1], "7.0"])))
    assert [name for name, _, _ in graph_difference(a, b).changed] == ["w"]


def test_weights_are_compared_by_value_and_then_by_content(tmp_path):
    for name, kernel in {"a": "k", "b": "other"}.items():
        text = f"{kernel} = Const() {{dtype=float32, value=float32(2,)[1.0, 2.0]}}\n"
        bias = f"b = Const() {{dtype=float32, value=float32(2,)[0.5, {1.5 if name == 'a' else 1.75}]}}\n"
        (tmp_path / f"{name}.txt").write_text(text + bias)
    a, b = (saved(tmp_path / f"{name}.pb", (tmp_path / f"{name}.txt").read_text()) for name in "ab")
    difference = tfport.diff(a, b)
    assert [(part.kind, part.name, part.what) for part in difference.weights] == [
        ("changed", "b", "1 of 2 values differ, by at most 0.25"),
        ("renamed", "k", "now other"),
    ]
    assert difference.to_json()["equal"] is False


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path, capsys):
    from tfport.cli.main import main

    assert main(["diff", path_of("frozen"), str(tmp_path / "nothing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
