"""The order of weights in files by layer: names recorded from real Keras releases."""

from __future__ import annotations

import pytest
from tests.frontends.keras.instances import array, instance, model

from tfport.formats.keras.records import BY_LAYER, StoredWeights
from tfport.frontends.keras.version import KerasVersion
from tfport.frontends.keras.weights import layer_lists, weights_in_order

VERSIONS = [KerasVersion.parse(text) for text in ("1.2.2", "2.2.4", "2.15.0", "3.15.1")]
INNER = "bn/gamma bn/beta d1/kernel d1/bias frozen/kernel frozen/bias bn/moving_mean bn/moving_variance"
FROZEN = "frozen/kernel frozen/bias bn/gamma bn/beta bn/moving_mean bn/moving_variance d1/kernel d1/bias"


def nested(trainable=True):
    return model(
        "inner",
        instance("Dense", "frozen", trainable=False),
        instance("BatchNormalization", "bn", trainable=trainable),
        instance("Dense", "d1", trainable=trainable),
        trainable=trainable,
    )


def attention():
    inner = {f"{name}_dense": instance("EinsumDense", name) for name in ("query", "key", "value")}
    return instance(
        "MultiHeadAttention", "mha", **inner, output_dense=instance("EinsumDense", "attention_output")
    )


@pytest.mark.parametrize("version", VERSIONS, ids=str)
@pytest.mark.parametrize(
    ("layer", "names"),
    [
        (nested(), INNER),
        (nested(trainable=False), FROZEN),
        (instance("TimeDistributed", "td", layer=nested()), INNER),
        (
            attention(),
            "query/kernel query/bias key/kernel key/bias value/kernel value/bias "
            "attention_output/kernel attention_output/bias",
        ),
        (
            instance(
                "RNN",
                "r",
                cell=instance(
                    "StackedRNNCells", "s", cells=[instance("LSTMCell", "a"), instance("GRUCell", "b")]
                ),
            ),
            "a/kernel a/recurrent_kernel a/bias b/kernel b/recurrent_kernel b/bias",
        ),
    ],
)
def test_trainable_weights_come_first_and_inner_layers_follow(layer, names, version):
    assert [f"{owner}/{slot.name}" for owner, slot in weights_in_order(layer, version)] == names.split()


def test_a_frozen_model_with_a_trainable_layer_differs_between_versions():
    layer = model("m", instance("BatchNormalization", "bn"), instance("Dense", "d"), trainable=False)
    orders = {
        version: [f"{owner}/{slot.name}" for owner, slot in weights_in_order(layer, version)]
        for version in VERSIONS[1:]
    }
    old = ["bn/gamma", "bn/beta", "d/kernel", "d/bias", "bn/moving_mean", "bn/moving_variance"]
    new = ["bn/gamma", "bn/beta", "bn/moving_mean", "bn/moving_variance", "d/kernel", "d/bias"]
    assert list(orders.values()) == [old, old, new]


def lists(root, stored, version="2.15.0"):
    weights = StoredWeights(BY_LAYER, {name: [array(n) for n in names] for name, names in stored.items()})
    return {
        name: dict(zip((slot.name for slot in slots), (a.name for a in arrays), strict=False))
        for name, slots, arrays in layer_lists(root, weights, KerasVersion.parse(version))
    }


def test_the_order_counts_and_not_the_names():
    stored = {"b": ["b/bias:0", "b/kernel:0"], "a": ["a/kernel:0", "a/bias:0"]}
    assert lists(model("m", instance("Dense", "a"), instance("Dense", "b")), stored) == {
        "a": {"kernel": "b/bias:0", "bias": "b/kernel:0"},
        "b": {"kernel": "a/kernel:0", "bias": "a/bias:0"},
    }


def test_the_order_counts_where_the_layer_was_renamed_after_it_was_built():
    stored = {"d": ["old/a:0", "old/b:0"]}
    assert lists(model("m", instance("Dense", "d")), stored) == {
        "d": {"kernel": "old/a:0", "bias": "old/b:0"}
    }


def test_weights_of_another_build_of_the_architecture_are_taken_in_order():
    root = model("m", instance("Dense", "a"), instance("Activation", "act"), instance("Dense", "b"))
    stored = {"dense_7": ["k7", "b7"], "act_7": [], "dense_8": ["k8", "b8"]}
    assert lists(root, stored) == {"a": {"kernel": "k7", "bias": "b7"}, "b": {"kernel": "k8", "bias": "b8"}}


def test_keras_1_lists_the_layers_of_the_models_that_a_merge_layer_joins():
    left = model("left", instance("Dense", "a"), class_name="Sequential")
    right = model("right", instance("Dense", "b"), class_name="Sequential")
    merge = instance("Merge", "merge_1")
    merge.children = {"layers/0": left, "layers/1": right}
    stored = {"a": ["a_W", "a_b"], "b": ["b_W", "b_b"], "c": ["c_W", "c_b"]}
    expected = {name: {"kernel": f"{name}_W", "bias": f"{name}_b"} for name in "abc"}
    assert lists(model("m", merge, instance("Dense", "c")), stored, "1.2.2") == expected
