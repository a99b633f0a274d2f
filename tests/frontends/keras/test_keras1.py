"""Configurations of Keras 1 become those of Keras 2."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built

from tfport.frontends.keras.config import model_config
from tfport.frontends.keras.keras1 import translated, with_class_name

TRANSLATIONS = [
    (
        ("Convolution2D", {"nb_filter": 8, "nb_row": 3, "nb_col": 5, "subsample": [2, 1], "init": "uniform"}),
        ("Conv2D", {"filters": 8, "kernel_size": [3, 5], "strides": [2, 1]}),
    ),
    (
        ("Convolution1D", {"filter_length": 3, "border_mode": "same", "bias": False}),
        ("Conv1D", {"kernel_size": 3, "padding": "same", "use_bias": False}),
    ),
    (("MaxPooling2D", {"dim_ordering": "th"}), ("MaxPooling2D", {"data_format": "channels_first"})),
    (("ZeroPadding2D", {"padding": [1, 0, 2, 1]}), ("ZeroPadding2D", {"padding": [[1, 0], [2, 1]]})),
    (("Embedding", {"output_dim": 4}), ("Embedding", {"output_dim": 4})),
    (("TimeDistributedDense", {"output_dim": 4}), ("Dense", {"units": 4})),
    (("Dense", {"units": 4}), ("Dense", {"units": 4})),
]


@pytest.mark.parametrize(("old", "new"), TRANSLATIONS, ids=str)
def test_classes_and_options_are_translated(old, new):
    assert translated(*old) == new


def test_the_class_of_a_layer_before_keras_1_is_its_name():
    stored = {"name": "Dense", "custom_name": "mine", "output_dim": 3}
    assert with_class_name(stored) == {"class_name": "Dense", "config": {**stored, "name": "mine"}}


def test_layers_that_lack_their_dim_ordering_get_that_of_the_model():
    layers = [
        {"class_name": "ZeroPadding2D", "config": {"name": "a", "batch_input_shape": [None, 1, 4, 4]}},
        {"class_name": "MaxPooling2D", "config": {"name": "b", "dim_ordering": "th"}},
    ]
    config = model_config({"class_name": "Sequential", "config": layers}, "m.h5")
    assert config.layers[1].config["data_format"] == "channels_first"


def test_a_merge_layer_joins_models_at_the_start_of_a_sequential_model():
    def branch(name, size):
        dense = {"name": name, "output_dim": 2, "batch_input_shape": [None, size], "activation": "linear"}
        return {"class_name": "Sequential", "config": [{"class_name": "Dense", "config": dense}]}

    merge = {
        "name": "joined",
        "mode": "concat",
        "concat_axis": -1,
        "layers": [branch("a", 3), branch("b", 1)],
    }
    layers = [
        {"class_name": "Merge", "config": merge},
        {"class_name": "Dense", "config": {"name": "c", "output_dim": 1, "bias": False}},
    ]
    a, b, c = (
        np.arange(size, dtype="f").reshape(shape) - 1
        for size, shape in ((6, (3, 2)), (2, (1, 2)), (4, (4, 1)))
    )
    zero = np.zeros(2, "f")
    weights = {"a": [a, zero], "b": [b, zero], "c": [c]}
    model = built({"class_name": "Sequential", "config": layers}, weights, "1.2.2")
    x, y = np.float32([[1, 2, 3]]), np.float32([[-2]])
    expected = np.concatenate([x @ a, y @ b], 1) @ c
    np.testing.assert_allclose(answers(model, x, y)[0], expected, rtol=1e-6)


def test_kernels_of_theano_are_reversed():
    conv = {
        "name": "a",
        "filters": 1,
        "kernel_size": [2],
        "batch_input_shape": [None, 3, 1],
        "use_bias": False,
    }
    config = {"class_name": "Sequential", "config": [{"class_name": "Conv1D", "config": conv}]}
    kernel, x = np.float32([[[1]], [[10]]]), np.float32([[[1], [2], [3]]])
    for backend, expected in (("tensorflow", [21, 32]), ("theano", [12, 23])):
        result = answers(built(config, {"a": [kernel]}, "2.2.4", backend), x)[0]
        assert result.reshape(-1).tolist() == expected


def test_kernels_of_one_dimension_before_keras_1_2_have_the_filters_first():
    conv = {"name": "a", "nb_filter": 1, "filter_length": 2, "batch_input_shape": [None, 3, 1], "bias": False}
    config = {"class_name": "Sequential", "config": [{"class_name": "Convolution1D", "config": conv}]}
    kernel, x = np.float32([[[[1], [10]]]]), np.float32([[[1], [2], [3]]])
    assert answers(built(config, {"a": [kernel]}, "1.1.0"), x)[0].reshape(-1).tolist() == [21, 32]


def test_sequential_models_inside_others_have_the_names_of_the_weights():
    dense = {"name": "a", "output_dim": 2, "batch_input_shape": [None, 1], "bias": False}
    inner = {"class_name": "Sequential", "config": [{"class_name": "Dense", "config": dense}]}
    outer = {"class_name": "Dense", "config": {"name": "b", "output_dim": 1, "bias": False}}
    config = {"class_name": "Sequential", "config": [inner, outer]}
    weights = {"sequential_7": [np.float32([[1, 2]])], "b": [np.float32([[3], [4]])]}
    assert answers(built(config, weights, "1.2.2"), np.float32([[1]]))[0].item() == 11


def test_shared_axes_of_keras_1_are_those_that_the_weights_share():
    layer = {"name": "a", "batch_input_shape": [None, 2, 2], "init": "zero"}
    config = {"class_name": "Sequential", "config": [{"class_name": "PReLU", "config": layer}]}
    model = built(config, {"a": [np.float32([[0.5, 2]])]}, "1.2.2")
    assert answers(model, -np.ones((1, 2, 2), "f"))[0].reshape(-1).tolist() == [-0.5, -2, -0.5, -2]


def test_the_input_of_a_model_may_be_a_layer_that_returns_its_input():
    shape = {"name": "x", "batch_input_shape": [None, 2], "input_dtype": "float32"}
    layers = [
        {"class_name": "InputLayer", "config": shape, "inbound_nodes": []},
        {
            "class_name": "Activation",
            "config": {"name": "a", "activation": "linear"},
            "inbound_nodes": [[["x", 0, 0]]],
        },
    ]
    config = {"name": "m", "layers": layers, "input_layers": [["a", 0, 0]], "output_layers": [["a", 0, 0]]}
    model = built({"class_name": "Model", "config": config}, {}, "1.2.2")
    assert answers(model, np.float32([[1, 2]]))[0].tolist() == [[1, 2]]


def test_the_type_of_an_input_has_another_name():
    layers = [
        {"class_name": "InputLayer", "name": "x", "inbound_nodes": [],
         "config": {"name": "x", "batch_input_shape": [None, 2], "input_dtype": "int32"}},
    ]  # fmt: skip
    config = {"name": "m", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [["x", 0, 0]]}
    model = built({"class_name": "Model", "config": config}, {}, "1.2.2")
    assert answers(model, np.int32([[1, 2]]))[0].dtype == np.int32
