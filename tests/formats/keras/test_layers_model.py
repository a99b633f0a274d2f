"""TensorFlow.js layers models."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.formats.keras.samples import DENSE, MODEL

import tfport
from tfport.errors import UnreadableFile
from tfport.formats.files import Folder
from tfport.formats.keras.read import read_keras
from tfport.formats.keras.records import BY_LAYER

LSTM = {"class_name": "LSTM", "config": {"name": "lstm"}}
NESTED = {
    "class_name": "Sequential",
    "config": [
        {"class_name": "Model", "config": {"name": "inner", "layers": [DENSE]}},
        {"class_name": "Bidirectional", "config": {"name": "both", "layer": LSTM}},
    ],
}


def write(folder, topology, weights, **fields):
    listed, data = [], b""
    for name, (entry, values) in weights.items():
        listed.append({"name": name, **entry})
        data += values.tobytes()
    manifest = [{"paths": ["group1-shard1of1.bin"], "weights": listed}]
    (folder / "group1-shard1of1.bin").write_bytes(data)
    model = {"modelTopology": topology, "weightsManifest": manifest, **fields}
    (folder / "model.json").write_text(json.dumps(model))
    return read_keras(Folder(folder), "model.json")


def plain(*shape):
    values = np.arange(np.prod(shape), dtype="f4").reshape(shape)
    return {"shape": list(shape), "dtype": "float32"}, values


def test_a_converted_model(tmp_path):
    topology = {
        "keras_version": "2.1.6",
        "backend": "tensorflow",
        "model_config": MODEL,
        "training_config": {"loss": "mse"},
    }
    entry = {"shape": [3], "dtype": "float32", "quantization": {"dtype": "uint8", "scale": 0.5, "min": -1.0}}
    weights = {"dense/kernel": plain(4, 3), "dense/bias": (entry, np.array([0, 2, 4], "u1"))}
    file = write(tmp_path, topology, weights, format="layers-model", convertedBy="Converter v1.0.1")
    assert (file.layout, file.keras_version, file.backend) == ("tfjs", "2.1.6", "tensorflow")
    assert (file.config, file.training) == (MODEL, {"loss": "mse"})
    assert file.generated_by == "Converter v1.0.1"
    assert file.weights.layout == BY_LAYER
    [kernel, bias] = file.weights.lists["dense"]
    assert (kernel.name, kernel.dtype, kernel.shape) == ("dense/kernel", "float32", (4, 3))
    assert np.array_equal(kernel.read(), np.arange(12, dtype="f4").reshape(4, 3))
    assert bias.read().tolist() == [-1, 0, 1]


def test_a_model_that_tensorflow_js_saved(tmp_path):
    topology = {**MODEL, "keras_version": "tfjs-layers 4.22.0", "backend": "tensor_flow.js"}
    file = write(tmp_path, topology, {"dense/kernel": plain(2)}, generatedBy="tfjs-layers v4.22.0")
    assert file.config["class_name"] == "Sequential"
    assert (file.keras_version, file.generated_by) == (
        "tfjs-layers 4.22.0",
        "tfjs-layers v4.22.0",
    )


def test_weights_belong_to_the_outermost_layer(tmp_path):
    names = ("dense/kernel", "both/forward_lstm/kernel", "lstm/bias", "inner/dense/bias", "unknown/x")
    file = write(tmp_path, {"model_config": NESTED}, {name: plain(1) for name in names})
    owners = {layer: [w.name for w in weights] for layer, weights in file.weights.lists.items()}
    assert owners == {
        "inner": ["dense/kernel", "inner/dense/bias"],
        "both": ["both/forward_lstm/kernel", "lstm/bias"],
        "unknown": ["unknown/x"],
    }


def test_a_topology_without_a_model(tmp_path):
    with pytest.raises(UnreadableFile, match="expected the `class_name` and `config` of a Keras model"):
        write(tmp_path, {"keras_version": "2"}, {}, format="layers-model")


def test_keys_as_javascript_spells_them(tmp_path):
    """TensorFlow.js 4.22.0 loads this model, and answers the same: it spells all keys so after reading."""
    options = {
        "name": "myConv",
        "batchInputShape": [None, 2, 2, 1],
        "filters": 1,
        "kernelSize": [1, 1],
        "dataFormat": "channelsLast",
        "useBias": False,
        "activation": "hardSigmoid",
    }
    layers = [{"className": "Conv2D", "config": options}]
    topology = {"className": "Sequential", "config": {"name": "s", "layers": layers}}
    kernel = ({"shape": [1, 1, 1, 1], "dtype": "float32"}, np.array([0.5], "f4"))
    write(tmp_path, topology, {"myConv/kernel": kernel}, format="layers-model")
    x = np.array([0, 1, 2, -1], "f4").reshape(1, 2, 2, 1)
    [answer] = tfport.Session(tfport.load(tmp_path)).signature("serving_default")(myConv_input=x).values()
    assert np.asarray(answer).ravel() == pytest.approx([0.5, 0.6, 0.7, 0.4])


def test_names_in_connections_stay(tmp_path):
    config = {"output_layers": {"myScore": ["myDense", 0, 0]}, "layers": [{"inbound_nodes": [{"aB": 1}]}]}
    file = write(tmp_path, {"class_name": "Functional", "config": config}, {})
    assert file.config["config"] == config


def test_weights_below_the_name_of_the_model(tmp_path):
    """Keras 3 names them so; TensorFlow.js finds none of them."""
    model = {**MODEL, "config": {"name": "model", "layers": [DENSE]}}
    weights = {"model/dense/kernel": plain(2), "dense/bias": plain(1), "model/other/x": plain(1)}
    file = write(tmp_path, {"model_config": model}, weights)
    owners = {layer: [w.name for w in weights] for layer, weights in file.weights.lists.items()}
    assert owners == {"dense": ["dense/kernel", "dense/bias"], "model": ["model/other/x"]}
