"""Files of Keras 3 before 3.15 say in shapes which `output_padding` a transposed convolution has."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import built

from tfport.frontends.keras.config import model_config

OPTIONS = {
    "filters": 3,
    "kernel_size": [3, 4],
    "strides": [3, 2],
    "padding": "valid",
    "dilation_rate": [1, 1],
}
INPUT = {"class_name": "InputLayer", "config": {"name": "x", "batch_shape": [None, 4, 5, 2]}}
BEFORE = [None, 4, 5, 2]


def tensor(shape, layer):
    config = {"shape": shape, "dtype": "float32", "keras_history": [layer, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


def call(shape, layer):
    return {"inbound_nodes": [{"args": [tensor(shape, layer)], "kwargs": {}}]}


def functional(after, **options):
    """As Keras 3.5.0 stores it in .keras and .h5 files."""
    layers = [
        {**INPUT, "name": "x", "inbound_nodes": []},
        {**convolution(options), "name": "c", **call(options.get("before", BEFORE), "x")},
        {"class_name": "ReLU", "name": "r", "config": {"name": "r", "trainable": True}, **call(after, "c")},
    ]
    ends = {"input_layers": [["x", 0, 0]], "output_layers": [["r", 0, 0]]}
    return {"class_name": "Functional", "config": {"name": "m", "layers": layers, **ends}}


def sequential(after, **options):
    """As Keras 3.5.0 stores it in .keras files."""
    layers = [
        INPUT,
        {**convolution(options), "build_config": {"input_shape": options.get("before", BEFORE)}},
        {"class_name": "ReLU", "config": {"name": "r"}, "build_config": {"input_shape": after}},
    ]
    return {"class_name": "Sequential", "config": {"name": "m", "layers": layers}}


def convolution(options):
    options = {name: value for name, value in options.items() if name != "before"}
    return {"class_name": "Conv2DTranspose", "config": {"name": "c", **OPTIONS, **options}}


@pytest.mark.parametrize("model", [functional, sequential])
@pytest.mark.parametrize(
    ("after", "options", "padding"),
    [
        ([None, 14, 13, 3], {}, [2, 1]),  # as Keras 3.5.0 computes them
        ([None, 12, 12, 3], {}, None),  # without
        ([None, 40, 13, 3], {}, None),  # not possible
        ([None, None, 13, 3], {}, None),
        ([None, 12, 10, 3], {"padding": "same"}, None),  # without
        ([None, 11, 9, 3], {"padding": "same", "kernel_size": [3, 3]}, [1, 0]),
        (
            [None, 3, 14, 13],
            {"data_format": "channels_first", "before": [None, 2, 4, 5]},
            [2, 1],
        ),
        ([None, 14, 13, 3], {"output_padding": None}, None),  # stored since Keras 3.15
        ("damaged", {}, None),
        ([None, 14], {}, None),
    ],
)
def test_the_output_padding_follows_from_the_shapes(model, after, options, padding):
    layer = model_config(model(after, **options), "m.keras").layers[1]
    assert layer.config.get("output_padding") == padding


@pytest.mark.parametrize("model", [functional, sequential])
def test_the_model_has_the_shape_that_its_release_computed(model):
    weights = {"c": [np.ones((3, 4, 3, 2), "f4"), np.zeros(3, "f4")]}
    signature = built(model([None, 14, 13, 3]), weights, "3.5.0").signatures["serving_default"]
    assert [spec.shape.dims for spec in signature.outputs.values()] == [(None, 14, 13, 3)]
