"""What a release loads and computes differently, or cannot compute; measured with real releases."""

import pytest

from tfport.atlas.keras_releases import keras_of_tensorflow, keras_releases
from tfport.check.keras.check_keras_file import findings_in, simulated_load
from tfport.check.keras.environment import KerasEnvironment
from tfport.formats.keras.records import KerasFile

UP = ("UpSampling2D", {"size": [2, 2], "interpolation": "bilinear"})
CROP = ("RandomCrop", {"height": 3, "width": 4})
MITCHELL = ("Resizing", {"height": 3, "width": 4, "interpolation": "mitchellcubic"})
CHANGES = [  # layer, version that saved it, release, codes
    (UP, "2.3.1", "tensorflow-2.4.4", ["TFP740"]),
    (UP, "2.3.1", "keras-2.2.4", []),
    (UP, "2.2.4-tf", "tensorflow-2.4.4", []),
    (CROP, "2.15.0", "keras-3.15.1", ["TFP740"]),
    (CROP, "2.15.0", "keras-3.5.0", []),
    (CROP, "2.15.0", "tensorflow-2.12.1", []),
    (MITCHELL, "2.15.0", "keras-3.15.1", ["TFP707"]),
    (MITCHELL, "2.15.0", "tensorflow-2.12.1", []),
]
INPUT = {"class_name": "InputLayer", "config": {"name": "x", "batch_input_shape": [None, 8, 8, 3]}}


def recorded(package: str, version: str):
    return next(release for release in keras_releases(package) if release.version == version)


def release_of(name):
    package, _, version = name.rpartition("-")
    return keras_of_tensorflow(version) if package == "tensorflow" else recorded(package, version)


def h5(config, version="2.4.0"):
    return KerasFile("m.h5", "h5", config, None, version)


def sequential(*layers, name="m"):
    return {"class_name": "Sequential", "config": {"name": name, "layers": list(layers)}}


@pytest.mark.parametrize(("layer", "saved", "release", "codes"), CHANGES)
def test_a_change_of_meaning_is_found(layer, saved, release, codes):
    class_name, config = layer
    file = h5(sequential(INPUT, {"class_name": class_name, "config": {"name": "y", **config}}), saved)
    findings = [f for f in findings_in(file, release_of(release), KerasEnvironment()) if f.stage == "run"]
    assert [(f.code, f.layer) for f in findings] == [(code, "y") for code in codes]


def test_the_input_shape_of_an_inner_model_is_read_as_one_dimension_more():
    first = {"class_name": "Dense", "config": {"name": "d", "units": 2, "batch_input_shape": [None, 3]}}
    outer = sequential(INPUT, sequential(first, name="inner"))
    findings = [
        f
        for f in findings_in(h5(outer), release_of("keras-3.15.1"), KerasEnvironment())
        if f.code == "TFP711"
    ]
    assert [f.layer for f in findings] == ["d"]


def call(class_name, name, *histories, **config):
    entry = {"class_name": class_name, "config": {"name": name, **config}, "name": name}
    return {**entry, "inbound_nodes": [list(histories)] if histories else []}


REFUSED = [  # layers of a functional model, the end of the text of Keras 3
    (
        [
            call("InputLayer", "x", batch_input_shape=[None, 3]),
            call("Dense", "a/b", ["x", 0, 0, {}], units=2),
        ],
        "cannot contain character `/`. Received: name=a/b (of type <class 'str'>)",
    ),
    (
        [
            call("InputLayer", "x", batch_input_shape=[None, 4, 3]),
            call("InputLayer", "s", batch_input_shape=[None, 2]),
            call("GRU", "g", ["x", 0, 0, {}], ["s", 0, 0, {}], units=2),
        ],
        'Layer "g" expects 1 input(s), but it received 2 input tensors. Inputs received: …',
    ),
]


@pytest.mark.parametrize(("layers", "text"), REFUSED)
def test_keras_3_refuses_what_keras_2_loads(layers, text):
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [[layers[-1]["name"], 0, 0]]}
    file = h5({"class_name": "Functional", "config": {"name": "m", "layers": layers, **ends}})
    assert simulated_load(file, release_of("keras-3.15.1"))[0].text.endswith(text)
    assert simulated_load(file, release_of("tensorflow-2.4.4")) == []
