"""Keras files of all layouts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.formats.keras.samples import (
    BIAS,
    DENSE,
    KERNEL,
    METADATA,
    MODEL,
    h5,
    keras,
    put_layers,
    put_model,
    put_paths,
    read,
)

from tfport.errors import NotAModel, UnreadableFile
from tfport.formats.keras.records import BY_LAYER, BY_PATH


@pytest.mark.parametrize("store", [str, str.encode], ids=["text", "bytes"])
def test_a_whole_model_in_hdf5(store):
    file = read(h5(lambda f: put_model(f, store(json.dumps(MODEL)))))
    assert (file.layout, file.keras_version, file.backend) == ("h5", "2.15.0", "tensorflow")
    assert file.config == MODEL
    assert file.training is None
    assert file.weights.layout == BY_LAYER
    [kernel, bias] = file.weights.lists["dense"]
    assert (kernel.name, kernel.dtype, kernel.shape) == ("dense/kernel:0", "float32", (4, 3))
    assert np.array_equal(kernel.read(), KERNEL)
    assert np.array_equal(bias.read(), BIAS)


def test_training_settings():
    training = {"loss": "mse", "optimizer_config": {"class_name": "Adam", "config": {}}}

    def write(file):
        put_model(file)
        file.attrs["training_config"] = json.dumps(training)

    assert read(h5(write)).training == training


def test_weights_in_the_order_of_the_names():
    def write(file):
        put_layers(file, {"z": {"b": BIAS, "a": KERNEL}, "y": {}, "a/nested": {"w": BIAS}})
        file.attrs["keras_version"] = "2.2.4"

    file = read(h5(write))
    assert (file.layout, file.config, file.keras_version) == ("weights", None, "2.2.4")
    names = {layer: [w.name for w in weights] for layer, weights in file.weights.lists.items()}
    assert names == {"z": ["b", "a"], "y": [], "a/nested": ["w"]}
    assert list(names) == ["z", "y", "a/nested"]


def test_long_lists_of_names_are_stored_in_parts():
    def write(file):
        file.attrs["layer_names0"], file.attrs["layer_names1"] = [b"a", b"b"], [b"c"]
        for name in "abc":
            layer = file.create_group(name)
            layer.attrs["weight_names0"], layer.attrs["weight_names1"] = [b"w"], [b"v"]
            layer["w"], layer["v"] = KERNEL, BIAS

    lists = read(h5(write)).weights.lists
    assert {layer: [w.name for w in weights] for layer, weights in lists.items()} == {
        n: ["w", "v"] for n in "abc"
    }


def test_numbered_weights_before_keras_1():
    def write(file):
        file.attrs["nb_layers"] = 2
        for number in range(2):
            layer = file.create_group(f"layer_{number}")
            layer.attrs["nb_params"] = number
            layer["param_0"] = BIAS

    lists = read(h5(write)).weights.lists
    assert {name: len(weights) for name, weights in lists.items()} == {"layer_0": 0, "layer_1": 1}


def test_weights_of_the_model_itself():
    def write(file):
        put_model(file)
        top = file["model_weights"].create_group("top_level_model_weights")
        top.attrs["weight_names"], top["count:0"] = [b"count:0"], 3

    lists = read(h5(write)).weights.lists
    assert [w.read() for w in lists["top_level_model_weights"]] == [3]


def test_weights_by_path_are_in_the_order_of_their_numbers():
    def write(file):
        for number in range(12):
            file[f"layers/lstm/cell/vars/{number}"] = number
        file["layers/lstm/cell/vars/extra"] = 12
        file["_layer_checkpoint_dependencies/d/vars/0"] = 1

    file = read(h5(write))
    assert (file.layout, file.weights.layout) == ("weights", BY_PATH)
    assert file.weights.lists.keys() == {"layers/lstm/cell", "_layer_checkpoint_dependencies/d"}
    assert [w.read() for w in file.weights.lists["layers/lstm/cell"]] == list(range(13))


def test_weights_by_path_that_windows_wrote():
    def write(file):
        file["_layer_checkpoint_dependencies\\rnn\\cell/vars/0"] = 1
        file["vars/0"] = 2

    assert read(h5(write)).weights.lists.keys() == {"_layer_checkpoint_dependencies/rnn/cell", ""}


def test_an_archive():
    config = {**MODEL, "compile_config": {"optimizer": "adam"}}
    file = read(keras(config, **{"assets/layers/lookup/vocabulary.txt": "a\nb"}))
    assert (file.layout, file.keras_version, file.saved_at) == ("keras", "3.15.1", METADATA["date_saved"])
    assert file.config == config
    assert file.training == {"optimizer": "adam"}
    assert dict(file.assets) == {"layers/lookup/vocabulary.txt": b"a\nb"}
    [kernel, _] = file.weights.lists["layers/dense"]
    assert kernel.name == "layers/dense/vars/0"
    assert np.array_equal(kernel.read(), KERNEL)


def test_content_decides_not_the_name():
    """TensorFlow 2.4 writes HDF5 under any name."""
    assert read(h5(put_model)).layout == "h5"
    assert read(keras()).layout == "keras"


def test_weights_in_several_files():
    shards = {
        "model_00000.weights.h5": h5(lambda f: f.__setitem__("layers/dense/vars/0", KERNEL)),
        "model_00001.weights.h5": h5(lambda f: f.__setitem__("layers/dense/vars/1", BIAS)),
    }
    weight_map = {"weight_map": {"/layers/dense/vars": list(shards)}}
    members = {"metadata.json": METADATA, "config.json": MODEL, "model.weights.json": weight_map, **shards}
    from tests.formats.keras.samples import archive

    file = read(archive(members))
    assert [w.shape for w in file.weights.lists["layers/dense"]] == [(4, 3), (3,)]
    for name, message in (("../x.h5", "the name of a file next to it"), ("x.h5", "missing")):
        members["model.weights.json"] = {"weight_map": {"/a/vars": name}}
        with pytest.raises(UnreadableFile, match=message):
            read(archive(members))


@pytest.mark.parametrize("is_marked", [True, False])
def test_bfloat16_is_stored_without_a_type(is_marked):
    import ml_dtypes

    values = np.arange(3).astype(ml_dtypes.bfloat16)

    def write(file):
        file["layers/dense/vars/0"] = values
        if is_marked:  # as Keras 3 does
            file["layers/dense/vars/0"].attrs["dtype"] = "bfloat16"

    [weight] = read(h5(write)).weights.lists["layers/dense"]
    assert weight.dtype == "bfloat16"
    assert np.array_equal(weight.read(), values)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (h5(lambda f: f.__setitem__("x", 1)), NotAModel, "an HDF5 file, but without a Keras model"),
        (h5(lambda f: put_model(f, "{")), UnreadableFile, "m: model_config, line 1, column 2: not JSON"),
        (h5(lambda f: put_model(f, "[]")), NotAModel, "expected a JSON object, found a list"),
        (h5(lambda f: put_model(f, {"a": 1})), UnreadableFile, "expected the `class_name` and `config`"),
        (h5(lambda f: put_model(f, "{" * 100000)), UnreadableFile, "not JSON|nested too deeply"),
        (h5(lambda f: put_model(f, '{"a":' + "[" * 900 + "]" * 900 + "}")), UnreadableFile, "too deeply"),
        (b"nothing", UnreadableFile, "^m, line 1, column 1: not JSON"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(data, error, message):
    with pytest.raises(error, match=message):
        read(data)


def test_a_listed_weight_that_is_missing():
    def write(file):
        put_model(file)
        del file["model_weights/dense/dense/kernel:0"]

    with pytest.raises(
        UnreadableFile, match="expected the array `model_weights/dense/dense/kernel:0`, which"
    ):
        read(h5(write))


def test_an_architecture_without_weights_of_its_own():
    def write(file):
        file.attrs["model_config"] = json.dumps(MODEL)

    assert read(h5(write)).weights is None
    assert DENSE in MODEL["config"]["layers"]
    assert read(h5(put_paths)).weights is not None
