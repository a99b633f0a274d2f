"""Keras files are recognized by their content: in folders, in archives and in memory."""

from __future__ import annotations

import json
import zipfile

import pytest
from tests.formats.keras.samples import DENSE, MODEL, archive, h5, keras, put_layers, put_model, put_paths

from tfport.errors import Error, NotAModel, UnreadableFile
from tfport.formats.find import find_model
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.signature import KERAS_ARCHIVE, KERAS_H5, KERAS_JSON, KERAS_WEIGHTS, TFJS_LAYERS

H5, ARCHIVE, PATHS = h5(put_model), keras(), h5(put_paths)
LAYERS = h5(lambda file: put_layers(file, {"dense": {}}))
JSON = json.dumps(MODEL).encode()
TFJS = json.dumps({"format": "layers-model", "modelTopology": MODEL}).encode()
UNPACKED = {"config.json": JSON, "metadata.json": b"{}", "model.weights.h5": PATHS}
CASES = [  # files, path, the format, where it is, the file that is read
    ({"a.h5": H5}, "a.h5", KERAS_H5, "a.h5", "a.h5"),
    ({"a.keras": H5}, "a.keras", KERAS_H5, "a.keras", "a.keras"),
    ({"a.h5": ARCHIVE}, "a.h5", KERAS_ARCHIVE, "a.h5", "config.json"),
    ({"a.keras": ARCHIVE}, "a.keras", KERAS_ARCHIVE, "a.keras", "config.json"),
    ({"a.keras": ARCHIVE, "notes.txt": b""}, "", KERAS_ARCHIVE, "a.keras", "config.json"),
    (UNPACKED, "", KERAS_ARCHIVE, "", "config.json"),
    (UNPACKED, "config.json", KERAS_ARCHIVE, "", "config.json"),
    (UNPACKED, "model.weights.h5", KERAS_WEIGHTS, "model.weights.h5", "model.weights.h5"),
    ({"config.json": JSON, "metadata.json": b"{}"}, "", KERAS_ARCHIVE, "", "config.json"),
    ({"a.h5": H5, "a_weights.h5": LAYERS}, "", KERAS_H5, "a.h5", "a.h5"),
    ({"m.json": JSON, "m.h5": LAYERS, "package.json": b"{}"}, "", KERAS_JSON, "m.json", "m.json"),
    ({"m.json": json.dumps(JSON.decode()).encode()}, "m.json", KERAS_JSON, "m.json", "m.json"),
    ({"w.h5": LAYERS}, "", KERAS_WEIGHTS, "w.h5", "w.h5"),
    ({"w.hdf5": PATHS}, "", KERAS_WEIGHTS, "w.hdf5", "w.hdf5"),
    ({"model.json": TFJS}, "", TFJS_LAYERS, "model.json", "model.json"),
    ({"model.json": TFJS}, "model.json", TFJS_LAYERS, "model.json", "model.json"),
]


@pytest.mark.parametrize(("tree", "path", "format_", "where", "name"), CASES)
@pytest.mark.parametrize("place", ["folder", "stored.zip", "deflated.zip"])
def test_the_model_is_found_and_read(place, tree, path, format_, where, name, tmp_path):
    top = tmp_path / "x"
    if place == "folder":
        for file, data in tree.items():
            (top / file).parent.mkdir(parents=True, exist_ok=True)
            (top / file).write_bytes(data)
    else:
        method = zipfile.ZIP_STORED if place.startswith("stored") else zipfile.ZIP_DEFLATED
        top.write_bytes(archive(tree, method))
    location = find_model(top / path)
    assert location.format is format_
    assert location.where == str(top / where if where else top)
    assert location.name == name
    file = read_keras(location.files, location.name)
    for weights in file.weights.lists.values() if file.weights else ():
        assert all(weight.read().shape == weight.shape for weight in weights)


@pytest.mark.parametrize(
    ("data", "format_"),
    [(H5, KERAS_H5), (ARCHIVE, KERAS_ARCHIVE), (JSON, KERAS_JSON), (LAYERS, KERAS_WEIGHTS)],
    ids=["h5", "keras", "json", "weights"],
)
def test_bytes_are_recognized(data, format_):
    location = find_model(data)
    assert location.format is format_
    assert read_keras(location.files, location.name).layout


def test_several_models_are_named(tmp_path):
    for name, data in {"a.h5": H5, "b.keras": ARCHIVE}.items():
        (tmp_path / name).write_bytes(data)
    with pytest.raises(Error, match=r"contains 2 models: a\.h5, b\.keras; pass the path of one"):
        find_model(tmp_path)


def test_an_hdf5_file_of_other_data_is_not_a_model():
    with pytest.raises(NotAModel, match="an HDF5 file without a Keras model or weights; use the file that"):
        find_model(h5(lambda file: file.__setitem__("data", [1])))


def test_json_of_other_data_is_not_a_model():
    with pytest.raises(NotAModel, match="a JSON file without a graph"):
        find_model(b'{"name": "x", "layers": 3}')
    assert DENSE["class_name"] == "Dense"


@pytest.mark.parametrize("path", ["a.keras", ""])
def test_an_archive_that_was_cut_short_is_no_zip_archive_to_unpack(tmp_path, path):
    (tmp_path / "a.keras").write_bytes(ARCHIVE[:-200])
    with pytest.raises(
        UnreadableFile, match=r"a\.keras: .*end .*is missing; the download or copy was cut short"
    ):
        find_model(tmp_path / path)
