"""Files that real releases of Keras wrote, with the weights as Keras returned them."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest

from tfport.formats.files import Folder
from tfport.formats.find import find_model
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import BY_LAYER, BY_PATH, KerasFile

H5, ARCHIVE = ("h5", BY_LAYER), ("keras", BY_PATH)
LAYERS, PATHS = ("weights", BY_LAYER), ("weights", BY_PATH)
CASES = [  # release, version of Keras, what model.h5, model.keras, archive.keras and model.weights.h5 are
    ("keras-1.2.2", "1.2.2", H5, H5, None, LAYERS),
    ("keras-2.2.4", "2.2.4", H5, H5, None, LAYERS),
    ("tensorflow-1.15.5", "2.2.4-tf", H5, H5, None, LAYERS),
    ("tensorflow-2.4.4", "2.4.0", H5, H5, None, LAYERS),
    ("tensorflow-2.12.1", "2.12.0", H5, H5, ARCHIVE, PATHS),
    ("tensorflow-2.15.1", "2.15.0", H5, ARCHIVE, ARCHIVE, PATHS),
    ("keras-3.0.5", "3.0.5", None, ARCHIVE, None, PATHS),
    ("keras-3.5.0", "3.5.0", H5, ARCHIVE, None, PATHS),
    ("keras-3.15.1", "3.15.1", H5, ARCHIVE, None, PATHS),
]
NAMES = ("model.h5", "model.keras", "archive.keras", "model.weights.h5")
NOT_OF_LAYERS = ("optimizer", "metrics")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recorded")
    with tarfile.open(Path(__file__).parent / "recorded.tar.xz") as file:
        file.extractall(folder, filter="data")
    return folder


def read(folder, name) -> KerasFile:
    location = find_model(folder / name)
    return read_keras(location.files, location.name)


def arrays(file: KerasFile) -> list[bytes]:
    lists = file.weights.lists.items()
    stored = [weight for owner, weights in lists if not owner.startswith(NOT_OF_LAYERS) for weight in weights]
    for weight in stored:
        array = weight.read()
        assert (array.shape, str(array.dtype)) == (weight.shape, weight.dtype)
    return sorted(weight.read().tobytes() for weight in stored)


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_the_weights_are_those_of_keras(case, recorded):
    release, version, *layouts = case
    expected = sorted(array.tobytes() for array in np.load(recorded / release / "weights.npz").values())
    for name, layout in zip(NAMES, layouts, strict=True):
        if layout is None:
            continue
        file = read(recorded / release, name)
        assert (file.layout, file.weights.layout) == layout, name
        assert arrays(file) == expected, name
        assert file.unsafe == []
        if file.config is not None:
            assert file.keras_version == version
            assert file.config["class_name"] in ("Sequential", "Model", "Functional")
            assert file.training


@pytest.mark.parametrize("release", [case[0] for case in CASES])
def test_the_architecture(release, recorded):
    file = read_keras(Folder(recorded / release), "model.json")
    assert file.layout == "json"
    assert file.keras_version in dict(case[:2] for case in CASES)[release]


def test_the_order_of_weights_by_layer(recorded):
    file = read(recorded / "tensorflow-2.4.4", "model.h5")
    names = {layer: [weight.name for weight in weights] for layer, weights in file.weights.lists.items()}
    assert list(names) == ["x", "inner", "norm", "both", "last"]
    assert names["inner"] == ["inner_dense/kernel:0", "inner_dense/bias:0"]
    assert names["last"] == ["last/kernel:0", "last/bias:0"]
    both = [name.split("/")[-3:] for name in names["both"]]
    assert both == [
        [direction, "lstm_cell_" + number, weight]
        for direction, number in (("forward_lstm", "1"), ("backward_lstm", "2"))
        for weight in ("kernel:0", "recurrent_kernel:0", "bias:0")
    ]


def test_weights_by_path(recorded):
    cells = [f"bidirectional/{direction}_layer/cell" for direction in ("forward", "backward")]
    paths = {"batch_normalization": 4, "dense": 2, **dict.fromkeys(cells, 3)}
    nested = {"tensorflow-2.12.1": "_layer_checkpoint_dependencies", "tensorflow-2.15.1": "layers"}
    for release, top in nested.items():
        lists = read(recorded / release, "archive.keras").weights.lists
        sizes = {owner: len(weights) for owner, weights in lists.items() if owner.startswith(top)}
        inner = {f"{top}/sequential/{top}/dense": 2}
        assert sizes == {**{f"{top}/{path}": size for path, size in paths.items()}, **inner}


def test_weights_in_several_files(recorded):
    file = read(recorded / "keras-3.15.1", "shards.weights.json")
    assert (file.layout, file.weights.layout) == ("weights", BY_PATH)
    shapes = {owner: [weight.shape for weight in weights] for owner, weights in file.weights.lists.items()}
    assert shapes == {"layers/dense": [(4, 30), (30,)], "layers/dense_1": [(30, 30), (30,)]}


def test_quantized_and_short_types(recorded):
    for release in ("keras-3.5.0", "keras-3.15.1"):
        lists = read(recorded / release, "int8.keras").weights.lists
        assert [weight.dtype for weight in lists["layers/dense"]] == ["int8", "float32", "float32"]
        lists = read(recorded / release, "bfloat16.keras").weights.lists
        assert [weight.dtype for weight in lists["layers/dense"]] == ["bfloat16", "bfloat16"]
        assert lists["layers/dense"][0].read().astype("f4").any()


def test_a_converted_layers_model(recorded):
    """The converter sorts layers by name, and stores them as integers of 8 bits here."""
    original = read(recorded / "tensorflow-2.15.1", "model.h5").weights.lists
    file = read(recorded / "tfjs-4.22.0", "model.json")
    assert (file.layout, file.keras_version, file.backend) == ("tfjs", "2.15.0", "tensorflow")
    assert file.generated_by == "TensorFlow.js Converter v4.22.0"
    assert file.weights.lists.keys() == {layer for layer, weights in original.items() if weights}
    for layer, weights in file.weights.lists.items():
        for weight, same in zip(weights, original[layer], strict=True):
            assert (f"{weight.name}:0", weight.dtype, weight.shape) == (same.name, same.dtype, same.shape)
            assert np.abs(weight.read() - same.read()).max() < 0.01


def test_assets(recorded):
    file = read(recorded / "keras-3.15.1", "words.keras")
    folder = "layers/text_vectorization"
    assert file.assets.keys() == {f"{folder}/vocabulary.txt", f"{folder}/_lookup_layer/vocabulary.txt"}
    assert file.assets[f"{folder}/vocabulary.txt"] == b"\n[UNK]\nb\nc\na"
    assert "no.txt" not in file.assets
