"""Answers and leaves compared with TensorFlow Decision Forests 1.11 (`tests/live/record_forests.py`)."""

import base64
import json
import zipfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.recorded_models import graph

import tfport
from tfport.errors import RunFailed
from tfport.formats.files import Folder, MemoryFiles
from tfport.formats.yggdrasil.read import read_forest, read_nodes
from tfport.graph.build import graph_to_def
from tfport.graph.save import save_model
from tfport.runtime.ops.forests.forest import Forest

RECORDED = np.load(Path(__file__).parents[3] / "expected" / "forests.npz")
NAMES = sorted({key.split("/")[0] for key in RECORDED if "/" in key})


@cache
def recorded(name, part):
    keys = [key for key in RECORDED if key.startswith(f"{name}/{part}")]
    return {key.rpartition("/")[2]: RECORDED[key] for key in keys}


def files(name):
    return MemoryFiles(
        name, {key: memoryview(value.tobytes()) for key, value in recorded(name, "files").items()}
    )


def loaded(name):
    model = read_forest(files(name), "")
    return Forest(model, read_nodes(files(name), "", "", model))


def inputs(name):
    return [recorded(name, "inputs")[str(index)] for index in range(6)]


@pytest.mark.parametrize("name", NAMES)
def test_predictions_are_those_of_the_real_op(name):
    forest = loaded(name)
    expected = RECORDED[f"{name}/predictions"]
    np.testing.assert_allclose(forest.predict(inputs(name)), expected, rtol=1e-6, atol=1e-7)
    assert forest.column_names() == RECORDED[f"{name}/names"].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_many_rows_have_the_same_answers(name, monkeypatch):
    few = loaded(name).predict(inputs(name))
    monkeypatch.setattr("tfport.runtime.ops.forests.forest.MANY_ROWS", 0)
    monkeypatch.setattr("tfport.runtime.ops.forests.forest.MOST_COMPILED", 1)
    assert (loaded(name).predict(inputs(name)) == few).all()


@pytest.mark.parametrize("name", [name for name in NAMES if f"{name}/leaves" in RECORDED])
def test_leaves_are_those_of_the_real_op(name):
    assert (loaded(name).leaf_indices(inputs(name)) == RECORDED[f"{name}/leaves"]).all()


@pytest.mark.parametrize("name", ["boosted", "sets", "oblique"])
def test_rows_do_not_depend_on_each_other(name, monkeypatch):
    whole = loaded(name).predict(inputs(name))
    monkeypatch.setattr("tfport.runtime.ops.forests.forest.MOST_ELEMENTS", 1)
    assert (loaded(name).predict(inputs(name)) == whole).all()


def test_no_rows_have_no_answers():
    numbers, booleans, categories, *sets = inputs("boosted")
    assert loaded("boosted").predict([numbers[:0], booleans[:0], categories[:0], *sets]).shape == (0, 2)


def test_a_missing_column_is_refused():
    numbers, *others = inputs("boosted")
    with pytest.raises(RunFailed, match=r"numerical_features must have 2 columns, found shape \[12, 1\]"):
        loaded("boosted").predict([numbers[:, :1], *others])


WHOLE = """
    path = Placeholder() {dtype=string, shape=()}
    n = Placeholder() {dtype=float32, shape=(?, 2)}
    b = Placeholder() {dtype=float32, shape=(?, 1)}
    c = Placeholder() {dtype=int32, shape=(?, 2)}
    v = Placeholder() {dtype=int32, shape=(?)}
    inner = Placeholder() {dtype=int64, shape=(?)}
    outer = Placeholder() {dtype=int64, shape=(?)}
    forest = SimpleMLCreateModelResource() {shared_name="f"}
    load = SimpleMLLoadModelFromPathWithHandle(forest, path) {output_types=["LEAVES"]}
    y = SimpleMLInferenceOpWithHandle(n, b, c, v, inner, outer, forest, ^load) {dense_output_dim=2}
    leaves = SimpleMLInferenceLeafIndexOpWithHandle(n, b, c, v, inner, outer, forest, ^load)
    named = SimpleMLLoadModelFromPath(path) {model_identifier="m"}
    z = SimpleMLInferenceOp(n, b, c, v, inner, outer, ^named) {model_identifier="m", dense_output_dim=2}
"""


@pytest.fixture
def session(tmp_path):
    (tmp_path / "assets").mkdir()
    for key, value in recorded("boosted", "files").items():
        (tmp_path / "assets" / key).write_bytes(value.tobytes())
    model = tfport.load(graph_to_def(graph(WHOLE)).SerializeToString())
    model.files = Folder(tmp_path)
    return tfport.Session(model)


def feeds(path):
    names = ("n", "b", "c", "v", "inner", "outer")
    fed = {f"{name}:0": value for name, value in zip(names, inputs("boosted"), strict=True)}
    return fed | {"path:0": np.array(path, object)}


def test_a_graph_loads_the_forest_of_its_assets(session):
    y, names, leaves, z = session.run(["y:0", "y:1", "leaves:0", "z:0"], feeds(b"assets/"))
    np.testing.assert_allclose(y, RECORDED["boosted/predictions"], rtol=1e-6, atol=1e-7)
    assert names.tolist() == RECORDED["boosted/names"].tolist()
    assert (leaves == RECORDED["boosted/leaves"]).all()
    assert (y == z).all()


@pytest.mark.parametrize("path", [b"../other/", b"/etc/", b"assets/../.."])
def test_a_model_reads_only_its_own_files(session, path):
    with pytest.raises(tfport.Error, match="models may only read their own files"):
        session.run(["y:0"], feeds(path))


def test_a_forest_that_is_not_there_is_named(session):
    with pytest.raises(tfport.Error, match=r"none.header\.pb"):
        session.run(["y:0"], feeds(b"none"))


def tfjs_model(folder, name):
    """A model.json with a recorded forest, as the converter of TensorFlow.js writes those of TF-DF."""
    path = base64.b64encode(b"/tmp/made/assets/0123done").decode()
    text = {"dtype": "DT_STRING", "tensorShape": {}, "stringVal": [path]}
    banks = ("numerical", "boolean", "categorical", "values", "rows", "sets")
    kinds = ("DT_FLOAT", "DT_FLOAT", "DT_INT32", "DT_INT32", "DT_INT64", "DT_INT64")
    main = [
        {"name": bank, "op": "Placeholder", "attr": {"dtype": {"type": kind}}}
        for bank, kind in zip((*banks, "model"), (*kinds, "DT_RESOURCE"), strict=True)
    ]
    attrs = {"dense_output_dim": {"i": "2"}}
    main.append(
        {"name": "ask", "op": OPS + "InferenceOpWithHandle", "input": [*banks, "model"], "attr": attrs}
    )
    floats = {"T": {"type": "DT_FLOAT"}}
    main.append({"name": "Identity", "op": "Identity", "input": ["ask"], "attr": floats})
    regex = {"pattern": {"s": encoded("0123done$")}, "rewrite": {"s": ""}}
    load = {"name": "load", "op": OPS + "LoadModelFromPathWithHandle", "input": ["made", "folder"]}
    first = [
        {"name": "file", "op": "Const", "attr": {"dtype": {"type": "DT_STRING"}, "value": {"tensor": text}}},
        {"name": "folder", "op": "StaticRegexReplace", "input": ["file"], "attr": regex},
        {"name": "made", "op": OPS + "CreateModelResource", "attr": {"shared_name": {"s": encoded("f")}}},
        load | {"attr": {"file_prefix": {"s": encoded("0123")}, "output_types": {"list": {}}}},
        {
            "name": "Identity",
            "op": "Identity",
            "input": ["made", "^load"],
            "attr": {"T": {"type": "DT_RESOURCE"}},
        },
    ]
    resource = {"dtype": "DT_RESOURCE", "tensorShape": {}, "resourceId": 1}
    document = {
        "format": "graph-model",
        "modelTopology": {"node": main},
        "modelInitializer": {"node": first},
        "signature": {
            "inputs": {bank: {"name": f"{bank}:0"} for bank in banks}
            | {"model": {"name": "model:0", **resource}},
            "outputs": {"predictions": {"name": "Identity:0", "dtype": "DT_FLOAT"}},
        },
        "initializerSignature": {"outputs": {"Identity:0": {"name": "Identity:0", **resource}}},
        "weightsManifest": [],
    }
    (folder / "model.json").write_text(json.dumps(document))
    with zipfile.ZipFile(folder / "assets.zip", "w") as archive:
        for file, content in recorded(name, "files").items():
            archive.writestr(f"./0123{file}", content.tobytes())
    return folder


def encoded(text):
    return base64.b64encode(text.encode()).decode()


OPS = "SimpleML"


def ask_session(model):
    banks = zip(
        ("numerical", "boolean", "categorical", "values", "rows", "sets"), inputs("boosted"), strict=True
    )
    return tfport.Session(model).signature("serving_default")(**dict(banks))["predictions"]


def test_a_forest_of_tensorflow_js_is_in_assets_zip(tmp_path):
    model = tfport.load(tfjs_model(tmp_path, "boosted"))
    expected = RECORDED["boosted/predictions"]
    np.testing.assert_allclose(ask_session(model), expected, rtol=1e-6, atol=1e-7)
    (forest,) = tfport.inspect(model).forests
    assert (forest.prefix, forest.kind) == ("0123", "GRADIENT_BOOSTED_TREES")
    save_model(model, tmp_path / "saved")
    np.testing.assert_allclose(ask_session(tfport.load(tmp_path / "saved")), expected, rtol=1e-6, atol=1e-7)


def test_a_forest_of_tensorflow_js_without_its_archive_is_a_finding(tmp_path):
    (tfjs_model(tmp_path, "boosted") / "assets.zip").unlink()
    (finding,) = tfport.check(tmp_path, on="tfport").findings
    assert finding.code == "TFP027"
    assert "0123done" in finding.message
