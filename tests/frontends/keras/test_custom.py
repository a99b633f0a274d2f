"""Layers that a user declares: by class, by the name of a layer, as a chain of known layers."""

from __future__ import annotations

import tarfile
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, functional, sequential

import tfport
from tfport.errors import BadRegistration, CannotRun
from tfport.frontends.keras.build import SIGNATURE
from tfport.frontends.keras.layer import CUSTOM_CLASSES, CUSTOM_LAYERS
from tfport.graph.building.arrays import matmul


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


CELLS = Path(__file__).parent / "models" / "custom_cells.tar.xz"
"""Models with the cells of `models/make_custom_cells.py`, and the answers of real Keras."""


def gated_step(b, x, states, units, memory):
    old, output = states
    kernel, mixer = b.weight("kernel", (x.shape[-1], units)), b.weight("mixer", (units, memory))
    back = b.weight("back", (memory, units))
    output = b.Tanh(b.Add(b.Add(matmul(b, x, kernel), matmul(b, old, back)), b.Mul(output, 0.5)))
    return output, [b.Add(b.Mul(old, 0.9), matmul(b, output, mixer)), output]


def declare_cells():
    @tfport.layer("GatedCell", state_size=["memory", "units"], output_state=1)
    def gated(b, x, states, *, units, memory):
        return gated_step(b, x, states, units, memory)

    @tfport.layer("mine>ContextCell", state_size=["memory", "units"], output_state=1)
    def context(b, x, states, constants, *, units, memory):
        return gated_step(b, b.Add(x, constants[0]), states, units, memory)


@pytest.mark.parametrize(
    "name",
    [
        "plain-keras-3.15.1.keras", "stacked-keras-3.15.1.keras", "plain-tensorflow-2.15.1.h5",
        "stacked-tensorflow-2.15.1.h5", "constants-tensorflow-2.15.1.h5", "states-tensorflow-2.15.1.h5",
        "bidirectional-tensorflow-2.15.1.h5",
    ],
)  # fmt: skip
def test_a_cell_of_a_recurrent_layer_gets_its_states_and_constants(name, tmp_path):
    declare_cells()
    with tarfile.open(CELLS) as archive:
        archive.extractall(tmp_path, filter="data")
    path = tmp_path / name
    arrays = dict(np.load(path.with_suffix(".npz")))
    answer = arrays.pop("answer")
    (result,) = tfport.Session(tfport.load(path)).signature(SIGNATURE)(**arrays).values()
    np.testing.assert_allclose(result, answer, rtol=1e-5, atol=1e-6)


def cell_model(options=None):
    cell = {"class_name": "GatedCell", "config": options or {"units": 4, "memory": 2}}
    return sequential(("RNN", {"cell": cell}), shape=(None, 5, 3))


def test_a_cell_must_be_declared_with_its_states():
    with pytest.raises(CannotRun, match=r'declare it with `@tfport.layer\("GatedCell", state_size='):
        built(cell_model(), {})

    @tfport.layer("GatedCell")
    def without_states(b, x, states, *, units, memory):
        return x, states

    with pytest.raises(CannotRun, match=r'declare it with `@tfport.layer\("GatedCell", state_size='):
        built(cell_model(), {})


def test_the_output_of_a_cell_must_be_the_state_that_is_declared():
    @tfport.layer("GatedCell", state_size=["memory", "units"])
    def other_state(b, x, states, *, units, memory):
        return gated_step(b, x, states, units, memory)

    with pytest.raises(CannotRun, match="of which number 0 is the output"):
        built(cell_model(), {})


def test_the_size_of_a_state_must_be_a_number():
    declare_cells()
    with pytest.raises(CannotRun, match="size of a state of its cell is 'memory', which its options do not"):
        built(cell_model({"units": 4, "memory": "two"}), {})


def test_constants_for_a_cell_that_takes_none_are_refused():
    declare_cells()
    inputs = {"x": ((None, 5, 3), "float32"), "c": ((None, 3), "float32")}
    for kind, options in (
        ("RNN", {"cell": {"class_name": "GatedCell", "config": {"units": 4, "memory": 2}}}),
        ("GRU", {"units": 4}),
        ("ConvLSTM2D", {"filters": 4}),
    ):
        stored = functional(inputs, {"l": (kind, {**options, "num_constants": 1}, ["x", "c"])}, [("l", 0)])
        with pytest.raises(CannotRun, match=r"called with constants, which its cell .*does not take"):
            built(stored, {})
