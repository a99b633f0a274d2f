"""One form for the configurations of all versions."""

from __future__ import annotations

import pytest

from tfport.errors import UnreadableFile
from tfport.frontends.keras.config import TensorRef, model_config

DENSE = {"class_name": "Dense", "config": {"name": "d", "units": 2, "batch_input_shape": [None, 3]}}
INPUT = {"class_name": "InputLayer", "name": "x", "config": {"name": "x"}, "inbound_nodes": []}


def test_a_sequential_model_as_a_list_gets_its_input_from_the_first_layer():
    model = model_config({"class_name": "Sequential", "config": [DENSE]}, "m.h5")
    assert [(layer.class_name, layer.name) for layer in model.layers] == [
        ("InputLayer", "d_input"),
        ("Dense", "d"),
    ]
    assert model.layers[0].config["batch_shape"] == [None, 3]
    assert (model.inputs, model.outputs) == (TensorRef("d_input"), TensorRef("d"))
    assert model.layers[1].calls[0].args == (TensorRef("d_input"),)


def test_the_calls_of_keras_2_and_3_are_the_same():
    tensor = {"class_name": "__keras_tensor__", "config": {"shape": [None, 3], "keras_history": ["x", 0, 0]}}
    calls = []
    for nodes in ([[["x", 0, 0, {}]]], [{"args": [tensor], "kwargs": {}}]):
        layer = {"class_name": "Dense", "name": "d", "config": {"name": "d"}, "inbound_nodes": nodes}
        options = {
            "name": "m",
            "layers": [INPUT, layer],
            "input_layers": [["x", 0, 0]],
            "output_layers": [["d", 0, 0]],
        }
        model = model_config({"class_name": "Functional", "config": options}, "m.keras")
        calls.append(model.layers[1].calls)
    assert calls[0] == calls[1]
    assert calls[0][0].args == (TensorRef("x"),)


def test_a_keyword_argument_of_keras_2_can_be_a_tensor():
    layer = {"class_name": "TFOpLambda", "name": "add", "config": {"name": "add", "function": "math.add"}}
    layer["inbound_nodes"] = [["x", 0, 0, {"y": ["x", 0, 0], "name": None}]]
    options = {"layers": [INPUT, layer], "input_layers": ["x", 0, 0], "output_layers": ["add", 0, 0]}
    model = model_config({"class_name": "Functional", "config": options}, "m.h5")
    assert model.layers[1].calls[0].args == (TensorRef("x"),)
    assert model.layers[1].calls[0].kwargs == {"y": TensorRef("x"), "name": None}


@pytest.mark.parametrize("stored", [{}, {"class_name": 3}, {"class_name": "Sequential", "config": []}])
def test_a_configuration_that_is_none_is_a_clear_error(stored):
    with pytest.raises(UnreadableFile, match=r"m\.h5: "):
        model_config(stored, "m.h5")


def test_a_subclassed_model_has_no_layers_in_its_file():
    with pytest.raises(UnreadableFile, match="class `Mine`, whose layers are Python code"):
        model_config({"class_name": "Mine", "config": {}}, "m.h5")


@pytest.mark.parametrize("first", [0, 1])
def test_the_calls_of_an_inner_model_are_numbered_from_zero(first):
    inner = {"class_name": "Sequential", "name": "s", "config": [DENSE], "inbound_nodes": [[["x", 0, 0]]] * 2}
    layer = {"class_name": "Dense", "name": "e", "config": {}, "inbound_nodes": [[["s", first, 0]]]}
    options = {
        "layers": [INPUT, inner, layer],
        "input_layers": [["x", 0, 0]],
        "output_layers": [["e", 0, 0], ["s", first + 1, 0]],
    }
    model = model_config({"class_name": "Model", "config": options}, "m.h5")
    assert model.layers[2].calls[0].args == (TensorRef("s", 0),)
    assert model.outputs == [TensorRef("e"), TensorRef("s", 1)]
