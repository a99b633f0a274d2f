"""Layers that a user declares: by class, by the name of a layer, as a chain of known layers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.keras.built_models import answers, built, sequential

import tfport
from tfport.errors import BadRegistration, CannotRun
from tfport.keras.layer import CUSTOM_CLASSES, CUSTOM_LAYERS


@pytest.fixture(autouse=True)
def own_declarations(monkeypatch):
    """Declarations of a test do not stay."""
    for declarations in (CUSTOM_CLASSES, CUSTOM_LAYERS):
        for name in list(declarations):
            monkeypatch.delitem(declarations, name)
    yield
    CUSTOM_CLASSES.clear()
    CUSTOM_LAYERS.clear()


X = np.float32([[1, 2]])


def test_a_class_gets_its_options_and_weights():
    @tfport.layer("Scale")
    def scale(b, x, *, factor):
        return b.Mul(b.Mul(x, factor), b.weight("gain", (x.shape[-1],)))

    model = built(sequential(("Scale", {"factor": 3.0}), shape=(None, 2)), {"l0": [np.float32([1, 10])]})
    np.testing.assert_array_equal(answers(model, X)[0], [[3, 60]])


def test_an_unknown_option_is_refused():
    @tfport.layer("Scale")
    def scale(b, x, *, factor):
        return b.Mul(x, factor)

    with pytest.raises(CannotRun, match=r"`l0` \(Scale\): the option `other` is unknown"):
        built(sequential(("Scale", {"factor": 3.0, "other": 1}), shape=(None, 2)), {})


def test_a_lambda_is_replaced_by_the_name_of_its_layer():
    config = sequential(("Lambda", {"function": ["4wEA", None, None]}), shape=(None, 2))
    with pytest.raises(CannotRun, match=r'`l0` is a Lambda, .*`@tfport.layer\(name="l0"\)`'):
        built(config, {})

    @tfport.layer(name="l0")
    def halve(b, x):
        return b.Mul(x, 0.5)

    np.testing.assert_array_equal(answers(built(config, {}), X)[0], [[0.5, 1]])


def test_a_class_is_a_chain_of_known_layers():
    parts = {
        "first": {"class_name": "Dense", "config": {"units": "$units", "use_bias": False}},
        "second": {"class_name": "Activation", "config": {"activation": "relu"}},
    }
    tfport.layer_of("Block", parts)
    kernel = np.float32([[1, -1, 0], [1, 1, -1]])
    model = built(sequential(("Block", {"units": 3}), shape=(None, 2)), {"l0": [kernel]})
    np.testing.assert_array_equal(answers(model, X)[0], [[3, 1, 0]])


def test_a_chain_names_the_option_that_is_missing():
    tfport.layer_of("Block", {"d": {"class_name": "Dense", "config": {"units": "$units"}}})
    with pytest.raises(CannotRun, match="the option `units` is missing"):
        built(sequential(("Block", {}), shape=(None, 2)), {})


def test_a_class_of_a_package_and_a_built_in_class_can_be_declared():
    @tfport.layer("Dropout")
    def other(b, x, *, rate):
        return b.Mul(x, rate)

    @tfport.layer("mine>Twice")
    def twice(b, x):
        return b.Mul(x, 2.0)

    config = sequential(("Dropout", {"rate": 0.5}), ("Twice", {}), shape=(None, 2))
    config["config"]["layers"][2]["registered_name"] = "mine>Twice"
    np.testing.assert_array_equal(answers(built(config, {}), X)[0], X)


@pytest.mark.parametrize("arguments", [{}, {"class_name": "A", "name": "b"}])
def test_a_declaration_says_a_class_or_a_layer(arguments):
    with pytest.raises(BadRegistration, match="expected the name of a class, or `name=` of a layer"):
        tfport.layer(**arguments)


def test_a_chain_without_parts_is_refused():
    with pytest.raises(BadRegistration, match="`Block` has no parts"):
        tfport.layer_of("Block", {})
