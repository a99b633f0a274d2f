"""The paths of weights in `.keras` files: recorded from real Keras releases."""

from __future__ import annotations

import pytest
from tests.frontends.keras.instances import array, instance, model

from tfport.formats.keras.records import BY_PATH, StoredWeights
from tfport.frontends.keras.weights import path_lists, snake_case


def paths(root, stored):
    """The path of each layer with weights, in a file with arrays at these paths."""
    weights = StoredWeights(BY_PATH, {path: [array(path)] for path in stored.split()})
    return {name: next((a.name for a in arrays), None) for name, _, arrays in path_lists(root, weights)}


def sequential():
    return model(
        "m",
        instance("InputLayer", "x"),
        instance("Dense", "zz"),
        instance("BatchNormalization", "bn"),
        instance("Dense", "last"),
        class_name="Sequential",
    )


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        ("layers/dense layers/batch_normalization layers/dense_1", "layers/dense_1"),  # 2.15, 3
        (
            "_layer_checkpoint_dependencies/dense _layer_checkpoint_dependencies/batch_normalization "
            "_layer_checkpoint_dependencies/dense_2",  # 2.12, 2.13
            "_layer_checkpoint_dependencies/dense_2",
        ),
    ],
)
def test_layers_are_named_by_class(stored, expected):
    assert paths(sequential(), stored) == {
        "zz": stored.split()[0],
        "bn": stored.split()[1],
        "last": expected,
    }


@pytest.mark.parametrize(("own", "version"), [("dense", "2.15"), ("dense_1", "3.15")])
def test_a_layer_of_two_models_is_saved_with_the_first(own, version):
    inner = model("inner", instance("Dense", "shared"), instance("Dense", "own"))
    root = model("m", instance("Dense", "shared"), inner)
    stored = f"layers/dense layers/functional/layers/{own}"
    assert paths(root, stored) == {"shared": "layers/dense", "own": f"layers/functional/layers/{own}"}


def test_layers_of_the_same_name_in_two_models_are_two_layers_if_both_are_stored():
    towers = [model(name, instance("Dense", "d"), class_name="Sequential") for name in "ab"]
    weights = "layers/sequential/layers/dense layers/sequential_1/layers/dense"
    stored = StoredWeights(BY_PATH, {path: [array(path)] for path in weights.split()})
    assert [arrays[0].name for *_, arrays in path_lists(model("m", *towers), stored)] == weights.split()


@pytest.mark.parametrize("prefix", ["", "_"])
def test_inner_layers_have_the_name_of_their_attribute(prefix):
    inner = {f"{name}_dense": instance("EinsumDense", name) for name in ("query", "output")}
    stored = " ".join(f"layers/multi_head_attention/{prefix}{name}" for name in inner)
    root = model("m", instance("MultiHeadAttention", "mha", **inner))
    assert paths(root, stored) == dict(zip(("query", "output"), stored.split(), strict=True))


def test_a_class_with_another_public_name_is_found_by_its_own():
    root = model("m", instance("GroupQueryAttention", "g", query_dense=instance("EinsumDense", "query")))
    path = "layers/grouped_query_attention/query_dense"
    assert paths(root, path) == {"query": path}


def test_cells_in_lists_are_named_by_class():
    cells = [instance("LSTMCell", "a"), instance("GRUCell", "b"), instance("LSTMCell", "c")]
    root = model("m", instance("RNN", "r", cell=instance("StackedRNNCells", "s", cells=cells)))
    names = ("lstm_cell", "gru_cell", "lstm_cell_1")
    stored = [f"layers/rnn/cell/cells/{name}" for name in names]
    assert paths(root, " ".join(stored)) == dict(zip("abc", stored, strict=True))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Conv2DTranspose", "conv2d_transpose"),
        ("GRUCell", "gru_cell"),
        ("RMSNormalization", "rms_normalization"),
        ("SeparableConv1D", "separable_conv1d"),
        ("my_package>MyLayer2D", "my_layer2d"),
    ],
)
def test_snake_case(name, expected):
    assert snake_case(name) == expected
