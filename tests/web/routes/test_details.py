"""Details of the API: search, tensors, assets, difference of graphs."""

import io
import json
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from tests.frontends.keras.files import write_h5
from tests.recorded_models import load, path_of
from tests.web.ui_client import running

import tfport

LITE = Path(__file__).parents[3] / "examples/wake_word.tflite"
TFJS = {
    "format": "graph-model",
    "modelTopology": {
        "node": [{"name": "w", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}}}],
        "versions": {"producer": 27},
    },
    "weightsManifest": [
        {"paths": ["w.bin"], "weights": [{"name": "w", "shape": [2, 3], "dtype": "float32"}]}
    ],
}
KERAS = Path(__file__).parents[2] / "fix/files/keras_3.keras"


def test_search_by_op_name_type_and_attribute(ui):
    model = ui.open(path_of("keras_lstm"))

    def found(query):
        answer = ui.get(f"/models/{model}/search?q={query}").json
        assert answer["total"] >= len(answer["matches"])
        return [ui.node(model, match["graph"], match["node"]) for match in answer["matches"]]

    assert {node["op"] for node in found("op:MatMul")} == {"MatMul"}
    assert len({node["graph"] for node in found("op:MatMul")}) > 1
    assert all("lstm" in node["node"].lower() for node in found("name:LSTM"))
    transposed = found("op:matmul%20attr:transpose_b%3Dtrue") + found("op:matmul%20attr:transpose_b%3Dfalse")
    assert len(transposed) <= len(found("op:MatMul"))
    int32 = found("dtype:int32")
    assert int32
    assert all(any("int32" in a["value"] for a in node["attributes"]) for node in int32)
    assert found("nobody") == found("") == found("dtype:bfloat16") == []


def test_a_tensor_of_the_checkpoint_has_statistics(ui):
    model = ui.open(path_of("keras_lstm"))
    stored = ui.get(f"/models/{model}/inspect").json["checkpoint"]
    floats = [tensor for tensor in stored if tensor["dtype"] == "float32" and tensor["shape"]]
    for tensor in floats:
        peek = ui.get(f"/models/{model}/tensor?key={tensor['key']}").json
        assert (peek["dtype"], peek["shape"]) == (tensor["dtype"], tensor["shape"])
        statistics = peek["statistics"]
        assert statistics["minimum"] <= statistics["mean"] <= statistics["maximum"]
        assert sum(statistics["histogram"]) == peek["elements"]
    assert ui.get(f"/models/{model}/tensor?key=nobody").status == 404


def test_the_lines_of_a_vocabulary(ui):
    model = ui.open(path_of("table_from_file"))
    asset = ui.get(f"/models/{model}/inspect").json["assets"][0]
    peek = ui.get(f"/models/{model}/asset?file={asset['file']}").json
    assert (peek["bytes"], peek["more"]) == (asset["bytes"], False)
    assert peek["lines"]
    for file in ("nobody", "../saved_model.pb", "", "/etc/hostname"):
        assert ui.get(f"/models/{model}/asset?file={file}").status == 404


def test_the_difference_of_two_graphs(tmp_path):
    changed = load("frozen")
    changed.graph.add("NoOp", name="added")
    tfport.save(changed, str(tmp_path / "changed.pb"))
    with running(allow=(str(tmp_path),), models=(path_of("frozen"),)) as ui:
        (entry,) = ui.get("/models").json["models"]
        a, b = (
            {"model": entry["id"], "graph": "main"},
            {"model": ui.open(tmp_path / "changed.pb"), "graph": "main"},
        )
        answer = ui.post("/diff", {"a": a, "b": b}).json
        assert (answer["added"], answer["gone"], answer["changed"]) == (["added"], [], [])
        assert answer["same"] == len(ui.graph(entry["id"])["names"])
        for body in ({}, {"a": a}, {"a": a, "b": 7}, {"a": a, "b": {**b, "graph": "f7"}}):
            assert ui.post("/diff", body).status == 400
        assert ui.post("/diff", {"a": a, "b": {"model": "nobody"}}).status == 404


@pytest.mark.parametrize("name", ["wake_word.tflite"])
def test_subgraphs_of_lite_files_are_not_compared(name):
    from tests.recorded_models import MODELS

    with running(models=(str(MODELS.parents[1] / "examples" / name),)) as ui:
        (entry,) = ui.get("/models").json["models"]
        address = {"model": entry["id"], "graph": "s0"}
        assert "TensorFlow ops" in ui.post("/diff", {"a": address, "b": address}).error


def test_weights_of_every_format_are_listed_and_saved(ui, tmp_path):
    h5 = tmp_path / "small.h5"
    write_h5(h5)
    tfjs = tmp_path / "tfjs"
    tfjs.mkdir()
    (tfjs / "model.json").write_text(json.dumps(TFJS))
    (tfjs / "w.bin").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    with running(allow=(str(tmp_path), str(LITE), str(KERAS))) as client:
        for path in (h5, LITE, KERAS, tfjs):
            model = client.open(path)
            rows = client.get(f"/models/{model}/tensors").json["tensors"]
            row = next(row for row in rows if row["dtype"] == "float32")
            key = quote(row["key"], safe="")
            peek = client.get(f"/models/{model}/tensor?key={key}").json
            assert (peek["dtype"], peek["shape"]) == (row["dtype"], row["shape"])
            answer = client.get(f"/models/{model}/tensor.npy?key={key}")
            array = np.load(io.BytesIO(answer.body))
            assert list(array.shape) == row["shape"]
            statistics = peek["statistics"]
            assert statistics["nan"] == 0
            assert (statistics["minimum"], statistics["maximum"]) == (array.min(), array.max())
            assert client.get(f"/models/{model}/tensor.npy?key=nobody").status == 404


def test_models_are_compared_as_by_the_command(ui):
    a, b = path_of("half_plus_two"), path_of("half_plus_three")
    document = ui.post("/compare", {"a": ui.open(a), "b": ui.open(b)}).json
    assert document == tfport.diff(a, b).to_json()
    assert document["weights"]["differences"][0]["name"] == "b"
