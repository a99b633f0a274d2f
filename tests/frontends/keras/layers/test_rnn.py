"""Recurrent layers: answers, masks, states, and that they become one node of the engine."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, functional, sequential
from tests.frontends.keras.layers import recurrences

import tfport
from tfport.errors import CannotRun
from tfport.frontends.keras.build import SIGNATURE

IN, H = 3, 2
RNG = np.random.default_rng(3)


def numbers(*shape):
    return RNG.standard_normal(shape).astype("f")


def weights(gates, biases=()):
    return [numbers(IN, gates * H), numbers(H, gates * H), numbers(*biases, gates * H)]


X = numbers(2, 5, IN)
IDS = np.int32([[1, 2, 3, 0, 0], [2, 0, 1, 1, 2], [0, 0, 0, 0, 0]])
MASK = IDS != 0
TABLE = numbers(4, IN)
WEIGHTS = {"SimpleRNN": weights(1), "LSTM": weights(4), "GRU": weights(3, (2,)), "old GRU": weights(3)}
STEPS = {
    "SimpleRNN": recurrences.simple_rnn(*WEIGHTS["SimpleRNN"]),
    "LSTM": recurrences.lstm(*WEIGHTS["LSTM"]),
    "GRU": recurrences.gru(*WEIGHTS["GRU"]),
    "old GRU": recurrences.gru(*WEIGHTS["old GRU"]),
}
KINDS = list(STEPS)


def options(kind, **more):
    gate = {} if kind == "SimpleRNN" else {"recurrent_activation": "sigmoid"}
    reset = {"reset_after": kind == "GRU"} if "GRU" in kind else {}
    return kind.removeprefix("old "), {"units": H, **gate, **reset, **more}


def zero_states(kind, batch):
    return [np.zeros((batch, H), "f")] * (2 if kind == "LSTM" else 1)


def outputs_of(kind, name, layer_options):
    states = len(zero_states(kind, 1)) if layer_options.get("return_state") else 0
    return [(name, i) for i in range(1 + states)]


def model_of(kind, version="2.15.0", **more):
    layer, config = options(kind, **more)
    stored = functional(
        {"x": ((None, None, IN), "float32")}, {"l": (layer, config, ["x"])}, outputs_of(kind, "l", config)
    )
    return built(stored, {"l": WEIGHTS[kind]}, version)


def masked_model(kind, version="2.15.0", states=0, **more):
    """An Embedding with a mask, and a layer that may get initial states in one list with the sequences."""
    layer, config = options(kind, **more)
    names = [f"s{i}" for i in range(states)]
    inputs = {"ids": ((None, None), "int32"), **dict.fromkeys(names, ((None, H), "float32"))}
    embedding = ("Embedding", {"input_dim": 4, "output_dim": IN, "mask_zero": True}, ["ids"])
    layers = {"e": embedding, "l": (layer, config, ["e", *names])}
    stored = functional(inputs, layers, outputs_of(kind, "l", config))
    return built(stored, {"e": [TABLE], "l": WEIGHTS[kind]}, version)


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_sequences_and_states(kind):
    model = model_of(kind, return_sequences=True, return_state=True)
    outputs, states = recurrences.run(STEPS[kind], X, zero_states(kind, 2))
    for actual, expected in zip(answers(model, X), [outputs, *states], strict=True):
        assert_close(actual, expected)


@pytest.mark.parametrize("kind", KINDS)
def test_backwards_the_outputs_are_in_the_order_of_the_steps(kind):
    model = model_of(kind, return_sequences=True, go_backwards=True)
    assert_close(answers(model, X)[0], recurrences.run(STEPS[kind], X[:, ::-1], zero_states(kind, 2))[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2])
def test_the_last_output_of_any_length(kind, length):
    outputs, _ = recurrences.run(STEPS[kind], X[:, :length], zero_states(kind, 2))
    assert_close(answers(model_of(kind), X[:, :length])[0], outputs[:, -1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ids", [IDS, IDS[:1]], ids=["any mask", "padding"])
def test_masked_steps_keep_the_states_and_repeat_the_output(kind, ids):
    model = masked_model(kind, return_sequences=True, return_state=True)
    outputs, states = recurrences.run(STEPS[kind], TABLE[ids], zero_states(kind, len(ids)), ids != 0)
    for actual, expected in zip(answers(model, ids), [outputs, *states], strict=True):
        assert_close(actual, expected)


@pytest.mark.parametrize("sequences", [True, False])
def test_masked_steps_are_zeros_if_the_layer_says_so(sequences):
    model = masked_model("LSTM", return_sequences=sequences, zero_output_for_mask=True)
    outputs, _ = recurrences.run(STEPS["LSTM"], TABLE[IDS], zero_states("LSTM", 3), MASK, zeros=True)
    assert_close(answers(model, IDS)[0], outputs if sequences else outputs[:, -1])


def test_sequences_with_the_time_first():
    model = model_of("GRU", return_sequences=True, time_major=True)
    outputs, _ = recurrences.run(STEPS["GRU"], X, zero_states("GRU", 2))
    assert_close(answers(model, X.transpose(1, 0, 2))[0], outputs.transpose(1, 0, 2))


def with_initial_states(kind, version):
    return masked_model(kind, version, states=len(zero_states(kind, 1)), return_sequences=True)


@pytest.mark.parametrize("kind", KINDS)
def test_initial_states(kind):
    states = [numbers(3, H) for _ in zero_states(kind, 3)]
    outputs, _ = recurrences.run(STEPS[kind], TABLE[IDS], states, MASK)
    assert_close(answers(with_initial_states(kind, "2.15.0"), IDS, *states)[0], outputs)


def test_before_keras_2_3_a_masked_step_shows_the_initial_state():
    state = numbers(3, H)
    (actual,) = answers(with_initial_states("GRU", "2.2.4"), IDS, state)
    assert_close(actual[2], np.repeat(state[2:], 5, axis=0))


def test_keras_3_ignores_the_mask_of_sequences_with_initial_states():
    state = numbers(3, H)
    outputs, _ = recurrences.run(STEPS["GRU"], TABLE[IDS], [state])
    assert_close(answers(with_initial_states("GRU", "3.15.1"), IDS, state)[0], outputs)


GATES = {"LSTM": "icfo", "GRU": "zrh"}


@pytest.mark.parametrize("kind", ["LSTM", "old GRU"])
@pytest.mark.parametrize("separate", [True, False])
def test_keras_1_stores_gates_separately_unless_for_the_gpu(kind, separate):
    w, u, b = WEIGHTS[kind]
    order = "ifco" if kind == "LSTM" else "zrh"
    stored = [w, u, b]
    if separate:
        parts = {g: [part[..., i * H : (i + 1) * H] for part in stored] for i, g in enumerate(order)}
        stored = [part for gate in GATES[kind.removeprefix("old ")] for part in parts[gate]]
    config = {"output_dim": H, "inner_activation": "sigmoid", "consume_less": "cpu" if separate else "gpu"}
    layer = (kind.removeprefix("old "), config)
    model = built(sequential(layer, shape=(None, 5, IN)), {"l0": stored}, "1.2.2")
    assert_close(answers(model, X)[0], recurrences.run(STEPS[kind], X, zero_states(kind, 2))[0][:, -1])


@pytest.mark.parametrize("version", ["2.15.0", "3.15.1"])
def test_the_gates_use_the_hard_sigmoid_of_the_version(version):
    def hard_sigmoid(x):
        return np.clip(0.2 * x + 0.5, 0, 1) if version < "3" else np.clip(x + 3, 0, 6) / 6

    model = model_of("LSTM", version, recurrent_activation="hard_sigmoid")
    step = recurrences.lstm(*WEIGHTS["LSTM"], gate=hard_sigmoid)
    assert_close(answers(model, X)[0], recurrences.run(step, X, zero_states("LSTM", 2))[0][:, -1])


def test_peepholes_see_the_cell_state():
    w, u, b = WEIGHTS["LSTM"]
    see_i, see_f, see_o = (numbers(H) for _ in range(3))

    def step(x, states):
        h, c = states
        i, f, g, o = np.split(x @ w + h @ u + b, 4, -1)
        sigmoid = recurrences.sigmoid
        new = sigmoid(f + see_f * c) * c + sigmoid(i + see_i * c) * np.tanh(g)
        return [sigmoid(o + see_o * new) * np.tanh(new), new]

    cell = {"class_name": "PeepholeLSTMCell", "config": {"units": H, "recurrent_activation": "sigmoid"}}
    config = sequential(("RNN", {"cell": cell}), shape=(None, None, IN))
    model = built(config, {"l0": [w, u, b, see_i, see_f, see_o]}, "2.4.0")
    assert_close(answers(model, X)[0], recurrences.run(step, X, zero_states("LSTM", 2))[0][:, -1])
    assert nodes_of(model) == {"LSTM"}


def stack(version):
    cells = [{"class_name": "LSTMCell", "config": {"units": H, "recurrent_activation": "sigmoid"}}]
    cells.append({"class_name": "SimpleRNNCell", "config": {"units": H}})
    layer = {"class_name": "StackedRNNCells", "config": {"cells": cells}}
    second = [numbers(H, H), numbers(H, H), numbers(H)]
    inputs, options = {"x": ((None, None, IN), "float32")}, {"cell": layer, "return_state": True}
    config = functional(inputs, {"l": ("RNN", options, ["x"])}, [("l", i) for i in range(4)])
    outputs, (h, c) = recurrences.run(STEPS["LSTM"], X, zero_states("LSTM", 2))
    top, _ = recurrences.run(recurrences.simple_rnn(*second), outputs, zero_states("GRU", 2))
    model = built(config, {"l": [*WEIGHTS["LSTM"], *second]}, version)
    return answers(model, X), top[:, -1], [h, c]


def test_stacked_cells_return_the_states_of_all_cells():
    actual, top, first = stack("2.15.0")
    for value, expected in zip(actual, [top, *first, top], strict=True):
        assert_close(value, expected)


def test_the_states_of_stacked_cells_were_in_reverse_order():
    actual, top, first = stack("2.2.2")
    for value, expected in zip(actual, [top, top, *first], strict=True):
        assert_close(value, expected)


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        (("LSTM", {}), "`l0` .LSTM.: the option `units` is missing"),
        (("LSTM", {"units": H, "phase": 1}), "the option `phase` is unknown"),
        (("RNN", {"cell": {"class_name": "MyCell", "config": {}}}), "cell is of the class `MyCell`"),
        (("RNN", {"cell": []}), "it has no cells"),
    ],
)
def test_what_cannot_be_built_is_named(layer, message):
    with pytest.raises(CannotRun, match=message):
        built(sequential(layer, shape=(None, 5, IN)), {})


def nodes_of(model):
    """The nodes of the engine that run recurrent layers."""
    signature = model.signatures[SIGNATURE]
    tensors = [
        [spec.tensors[0] for spec in specs.values()] for specs in (signature.outputs, signature.inputs)
    ]
    program = tfport.Session(model).program(*tensors)
    ops = {node.op for step in program.steps for node in step.lowered or ()}
    return ops & {"LSTM", "GRU", "RNN", "Loop", "If"}


@pytest.mark.parametrize(("kind", "node"), list(zip(KINDS, ["RNN", "LSTM", "GRU", "GRU"], strict=True)))
@pytest.mark.parametrize("sequences", [True, False])
@pytest.mark.parametrize("build", [model_of, masked_model])
def test_a_layer_becomes_one_node(kind, node, sequences, build):
    assert nodes_of(build(kind, return_sequences=sequences)) == {node}


@pytest.mark.parametrize("sequences", [True, False])
def test_a_layer_with_zeros_for_masked_steps_becomes_one_node(sequences):
    model = masked_model("LSTM", return_sequences=sequences, zero_output_for_mask=True)
    assert nodes_of(model) == {"LSTM"}


@pytest.mark.parametrize("version", ["2.15.0", "3.15.1"])
@pytest.mark.parametrize(("kind", "node"), [("LSTM", "LSTM"), ("old GRU", "GRU")])
def test_a_layer_with_hard_sigmoids_becomes_one_node(kind, node, version):
    assert nodes_of(model_of(kind, version, recurrent_activation="hard_sigmoid")) == {node}
