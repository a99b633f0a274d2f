"""Models that ONNX does not hold whole, in parts: together they answer as the model does."""

import json
import textwrap
from pathlib import Path

import numpy as np
import pytest
from tests.recorded_models import graph, path_of

import tfport
from tfport.cli.main import main
from tfport.graph.build import graph_to_def

PAGE = Path(__file__).parents[2] / "docs" / "commands" / "export.md"


def run_parts(folder, inputs):
    """The loop of the page."""
    text = PAGE.read_text().split("<!-- split loop -->")[1].split("```")[1].removeprefix("python\n")
    scope: dict = {}
    exec(textwrap.dedent(text), scope)
    return scope["run_parts"](str(folder), inputs)


WORDS = """
    words = Placeholder() {dtype=string, shape=(?,)}
    lower = StringLower(words)
    bucket = StringToHashBucketFast(lower) {num_buckets=8}
    number = Cast(bucket) {SrcT=int64, DstT=float32}
    column = Const() {dtype=int32, value=int32(2)[-1, 1]}
    rows = Reshape(number, column) {T=float32, Tshape=int32}
    weights = Const() {dtype=float32, value=float32(1,3)[0.1, -0.2, 0.3]}
    scores = MatMul(rows, weights) {T=float32}
    shares = Softmax(scores) {T=float32}
    text = AsString(shares) {T=float32, precision=3}
    length = StringLength(text)
"""


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.pb"
    path.write_bytes(graph_to_def(graph(WORDS)).SerializeToString())
    return str(path)


def test_the_parts_answer_as_the_model_does(words, tmp_path, capsys):
    ends = ["--fetch", "shares", "--fetch", "length"]
    assert main(["export", words, "-o", str(tmp_path / "parts"), "--split", "--json", *ends]) == 0
    report = json.loads(capsys.readouterr().out)
    assert [part["kind"] for part in report["parts"]] == ["host", "onnx", "host"]
    nodes = {
        node["name"]: node["why"]
        for part in report["parts"]
        if part["kind"] == "host"
        for node in part["nodes"]
    }
    assert nodes["bucket"] == "ONNX has no such op"
    assert {"lower", "text", "length"} < set(nodes)
    texts = np.array([b"One", b"", b"three"], object)
    answers = run_parts(tmp_path / "parts", {"words": texts})
    shares, length = tfport.Session(words).run(["shares:0", "length:0"], {"words:0": texts})
    np.testing.assert_allclose(answers["shares"], shares, rtol=1e-6)
    assert answers["length"].tolist() == length.tolist()
    assert not tfport.load(tmp_path / "parts" / "host").graph.has_any(["MatMul"])


@pytest.mark.parametrize("name", ["quantized"])
def test_parts_of_a_recorded_model(name, tmp_path):
    session = tfport.Session(tfport.load(path_of(name)))
    signature = session.model.signatures["serving_default"]
    rng = np.random.default_rng(0)
    inputs = {
        key: rng.random([size or 2 for size in spec.shape.dims]).astype(np.float32)
        for key, spec in signature.inputs.items()
    }
    assert main(["export", path_of(name), "-o", str(tmp_path / "parts"), "--split"]) == 0
    answers, expected = run_parts(tmp_path / "parts", inputs), session.signature("serving_default")(**inputs)
    assert answers.keys() == expected.keys()
    for key, array in expected.items():
        np.testing.assert_allclose(answers[key], array, rtol=1e-5, atol=1e-6)


def test_a_file_is_not_a_folder(tmp_path, capsys):
    assert main(["export", "examples/attention", "-o", str(tmp_path / "m.onnx"), "--split"]) == 2
    assert "--split writes a folder" in capsys.readouterr().err
