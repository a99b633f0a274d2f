"""Sessions of files that somebody overwrites: they answer as before, or an error says so; no signal."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.recorded_models import graph
from tests.serve.models.weighted import weighted

import tfport
from tfport.errors import UnreadableFile
from tfport.fix.lite.export import translated
from tfport.formats.encoding.tensor import from_numpy
from tfport.formats.keras.write import write_archive, write_h5
from tfport.formats.lite.write import lite_bytes
from tfport.formats.proto import graph_pb2
from tfport.graph.build import graph_to_def

SIZE = 1200
"""A matrix of this size has 5.8 MB; smaller files are read at once."""
ONES = np.ones((SIZE, SIZE), np.float32)
INPUT = {"name": "x", "batch_input_shape": [None, SIZE], "dtype": "float32"}
DENSE = {"name": "y", "units": SIZE, "activation": "linear", "use_bias": False}
LAYERS = [{"class_name": "InputLayer", "config": INPUT}, {"class_name": "Dense", "config": DENSE}]
KERAS = {"class_name": "Sequential", "config": {"name": "m", "layers": LAYERS}}
FROZEN = f"""
    x = Placeholder() {{dtype=float32, shape=(?, {SIZE})}}
    w = Const() {{dtype=float32, value=float32(1, 1)[1]}}
    y = MatMul(x, w) {{T=float32}}
"""


def h5(folder: Path) -> Path:
    write_h5(folder / "m.h5", KERAS, {"x": [], "y": [("y/kernel:0", ONES)]}, "2.15.0")
    return folder / "m.h5"


def keras(folder: Path) -> Path:
    objects = {"layers/dense": [("kernel", ONES)]}
    write_archive(folder / "m.keras", {"module": "keras", **KERAS}, objects, "3.15.1")
    return folder / "m.keras"


def frozen(folder: Path) -> Path:
    definition = graph_to_def(graph(FROZEN))
    tensor = next(node for node in definition.node if node.name == "w").attr["value"].tensor
    tensor.CopyFrom(from_numpy(ONES, graph_pb2.DT_FLOAT))
    (folder / "m.pb").write_bytes(definition.SerializeToString())
    return folder / "m.pb"


def lite(folder: Path) -> Path:
    model = tfport.load(h5(folder))
    (folder / "m.tflite").write_bytes(lite_bytes(translated(model, model.signatures)))
    return folder / "m.tflite"


def tfjs(folder: Path) -> Path:
    nodes = [
        {"name": "x", "op": "Placeholder", "attr": {"dtype": {"type": "DT_FLOAT"}}},
        {"name": "w", "op": "Const", "attr": {"dtype": {"type": "DT_FLOAT"}}},
        {"name": "y", "op": "MatMul", "input": ["x", "w"], "attr": {"T": {"type": "DT_FLOAT"}}},
    ]
    weights = [{"name": "w", "dtype": "float32", "shape": [SIZE, SIZE]}]
    document = {
        "format": "graph-model",
        "modelTopology": {"node": nodes},
        "weightsManifest": [{"paths": ["shard"], "weights": weights}],
    }
    (folder / "shard").write_bytes(ONES.tobytes())
    (folder / "model.json").write_text(json.dumps(document))
    return folder / "model.json"


def saved(folder: Path) -> Path:
    return weighted(folder / "saved", 1)


def zipped(folder: Path) -> Path:
    source = saved(folder)
    with zipfile.ZipFile(folder / "m.zip", "w") as archive:
        for path in source.rglob("*"):
            archive.write(path, path.relative_to(source))
    return folder / "m.zip"


FORMATS = [saved, zipped, frozen, h5, keras, lite, tfjs]

ANSWERS = f"""
import os, sys
from pathlib import Path
import numpy as np
import tfport

def files(path):
    if path.is_dir():
        return [file for file in path.rglob("*") if file.is_file()]
    return [path, *path.parent.glob("shard")]

def answer(session):
    if "other" in session.model.signatures:
        return float(session.signature("other")(x=np.array([1299], np.int32))["y"][0])
    size = {SIZE}
    if "serving_default" in session.model.signatures:
        call = session.signature("serving_default")
        return float(next(iter(call(x=np.ones((1, size), np.float32)).values()))[0, 7]) / size
    return float(session.run("y:0", {{"x:0": np.ones((1, size), np.float32)}})[0, 7]) / size

for path in map(Path, sys.argv[2:]):
    source = str(path) if sys.argv[1] == "path" else tfport.load(str(path))
    session = tfport.Session(source)
    for file in files(path):
        os.truncate(file, 100)
        file.write_bytes(b"x" * 100)
    print(path.name, answer(session), flush=True)
"""


@pytest.mark.parametrize("source", ["path", "model"])
def test_a_session_answers_as_it_was_built(tmp_path, source):
    paths = []
    for write in FORMATS:
        folder = tmp_path / write.__name__
        folder.mkdir()
        paths.append(write(folder))
    arguments = [sys.executable, "-c", ANSWERS, source, *map(str, paths)]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == [f"{path.name} 1.0" for path in paths], done.stderr
    assert done.returncode == 0


def test_a_model_whose_file_was_truncated_before_the_session_is_an_error(tmp_path):
    model = tfport.load(h5(tmp_path))
    os.truncate(tmp_path / "m.h5", 1000)
    with pytest.raises(UnreadableFile, match=r"m\.h5: changed while the model was loaded; write"):
        tfport.Session(model)


def test_a_model_whose_file_was_replaced_runs(tmp_path):
    model = tfport.load(h5(tmp_path))
    (tmp_path / "new").write_bytes(b"")
    (tmp_path / "new").rename(tmp_path / "m.h5")
    answer = tfport.Session(model).signature("serving_default")(x=np.ones((1, SIZE), np.float32))
    assert answer["y"][0, 0] == SIZE


def test_a_change_while_a_session_is_built_is_its_error(tmp_path, monkeypatch):
    path = weighted(tmp_path / "m", 1)
    from tfport.runtime import session as module

    def overwritten(*args):
        (path / "saved_model.pb").write_bytes(b"")
        return restore(*args)

    restore = module.restore_plainly
    monkeypatch.setattr(module, "restore_plainly", overwritten)
    with pytest.raises(UnreadableFile, match=r"saved_model\.pb: changed while the model was loaded"):
        tfport.Session(path)


@pytest.mark.parametrize("is_served", [False, True])
def test_a_session_with_stored_plans_has_the_variables_that_it_had_or_an_error(
    tmp_path, monkeypatch, is_served
):
    monkeypatch.setenv("TFPORT_CACHE", str(tmp_path / "cache"))
    path, x = weighted(tmp_path / "m", 1), np.array([0], np.int32)
    tfport.Session(path, cache=True).signature("serving_default")(x=x)  # stores its plan
    session = tfport.Session(path, cache=True)
    if is_served:
        session.hold_variables()
    (path / "variables" / "variables.data-00000-of-00001").write_bytes(b"other")
    assert session.signature("serving_default")(x=x)["y"][0] == 1  # the plan that was stored
    if is_served:
        assert session.signature("other")(x=x)["y"][0] == 1
    else:
        with pytest.raises(tfport.Error, match="data-00000-of-00001: changed while the model was loaded"):
            session.signature("other")(x=x)
