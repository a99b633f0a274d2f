"""Remote models cost their graphs: what is fetched of files with weights inside."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.recorded_models import path_of

from tfport.audit import staging
from tfport.audit.examine import AuditQuestions, examine_folder
from tfport.audit.store import folders_of
from tfport.formats.proto.graph_pb2 import GraphDef

fsspec = pytest.importorskip("fsspec")
QUESTIONS = AuditQuestions(("tensorflow==2.15.1",))


@pytest.fixture
def bucket():
    memory = fsspec.filesystem("memory")
    memory.makedirs("/bucket", exist_ok=True)
    yield memory
    memory.rm("/bucket", recursive=True)


def examined(address):
    """The rows of a remote store without their times, and how many bytes were fetched."""
    before = staging.fetched_bytes
    rows = []
    for folder in folders_of(address):
        with staging.staged(folder) as path:
            rows += examine_folder(folder, path, QUESTIONS, lambda path: None)
    return [_without_times(row) for row in rows], staging.fetched_bytes - before


def examined_locally(path):
    rows = [
        row
        for folder in folders_of(str(path))
        for row in examine_folder(folder, folder.path, QUESTIONS, lambda path: None)
    ]
    return [_without_times(row) for row in rows]


def _without_times(row):
    return {key: row[key] for key in ("status", "format", "signatures", "results", "risks", "bytes")}


def test_the_weights_of_a_saved_model_are_not_fetched(bucket, tmp_path):
    shutil.copytree(path_of("keras_lstm"), tmp_path / "m")
    weights = next((tmp_path / "m/variables").glob("*.data*"))
    bucket.put(str(tmp_path / "m"), "/bucket/m", recursive=True)
    rows, fetched = examined("memory://bucket/m")
    assert rows == examined_locally(tmp_path / "m")
    everything = sum(path.stat().st_size for path in (tmp_path / "m").rglob("*") if path.is_file())
    assert fetched == everything - weights.stat().st_size


def test_the_constants_of_a_graph_are_not_fetched(bucket, tmp_path):
    graph = GraphDef()
    graph.ParseFromString(Path(path_of("frozen")).read_bytes())
    for number in range(3):
        node = graph.node.add(name=f"weights{number}", op="Const")
        node.attr["dtype"].type = 1
        node.attr["value"].tensor.dtype = 1
        node.attr["value"].tensor.tensor_shape.dim.add(size=1 << 20)
        node.attr["value"].tensor.tensor_content = b"\x3f" * (4 << 20)
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.SerializeToString())
    bucket.put(str(path), "/bucket/graph.pb")
    rows, fetched = examined("memory://bucket")
    assert rows == examined_locally(path)
    assert fetched < 10 * staging.BLOCK


def test_the_datasets_of_a_keras_file_are_not_fetched(bucket, tmp_path):
    h5py = pytest.importorskip("h5py")
    import numpy as np

    layer = {"class_name": "Dense", "config": {"name": "d", "units": 1000, "batch_input_shape": [None, 1000]}}
    config = {"class_name": "Sequential", "config": {"name": "s", "layers": [layer]}}
    path = tmp_path / "model.h5"
    with h5py.File(path, "w") as file:
        import json

        file.attrs["model_config"] = json.dumps(config)
        file.attrs["keras_version"], file.attrs["backend"] = "2.4.0", "tensorflow"
        group = file.create_group("model_weights/d")
        group.attrs["weight_names"] = [b"d/kernel:0", b"d/bias:0"]
        file["model_weights"].attrs["layer_names"] = [b"d"]
        group["d/kernel:0"] = np.ones((1000, 1000), np.float32)
        group["d/bias:0"] = np.ones(1000, np.float32)
    bucket.put(str(path), "/bucket/model.h5")
    rows, fetched = examined("memory://bucket")
    assert rows == examined_locally(path)
    assert [result["verdict"] for result in rows[0]["results"]] == ["runs"]
    assert fetched < 4 * staging.BLOCK
