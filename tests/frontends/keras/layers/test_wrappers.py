"""Bidirectional and TimeDistributed."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, functional, sequential
from tests.frontends.keras.layers import recurrences

from tfport.errors import CannotRun, UnreadableFile

IN, H = 3, 2
RNG = np.random.default_rng(4)


def numbers(*shape):
    return RNG.standard_normal(shape).astype("f")


FORWARD, BACKWARD = ([numbers(IN, H), numbers(H, H), numbers(H)] for _ in range(2))
X, TABLE = numbers(2, 4, IN), numbers(4, IN)
IDS = np.int32([[1, 2, 0, 0], [0, 3, 0, 1], [0, 0, 0, 0]])
DENSE = [numbers(IN, H), numbers(H)]
ZEROS = [np.zeros((3, H), "f")]


def inner(**more):
    return {"class_name": "SimpleRNN", "config": {"name": "r", "units": H, **more}}


def wrapped(version="2.15.0", outputs=1, **options):
    layers = {"b": ("Bidirectional", options, ["x"])}
    stored = functional({"x": ((None, None, IN), "float32")}, layers, [("b", i) for i in range(outputs)])
    return built(stored, {"b": [*FORWARD, *BACKWARD]}, version)


def directions(x, mask=None, *, zeros=False):
    """The outputs of both directions in the order of time, and their last states."""
    start = [np.zeros((len(x), H), "f")]
    there, (last,) = recurrences.run(recurrences.simple_rnn(*FORWARD), x, start, mask, zeros=zeros)
    flipped = None if mask is None else mask[:, ::-1]
    back, (first,) = recurrences.run(
        recurrences.simple_rnn(*BACKWARD), x[:, ::-1], start, flipped, zeros=zeros
    )
    return there, back[:, ::-1], last, first


def assert_close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


MERGES = {
    "concat": lambda a, b: np.concatenate([a, b], -1),
    "sum": np.add,
    "ave": lambda a, b: (a + b) / 2,
    "mul": np.multiply,
}


@pytest.mark.parametrize("mode", MERGES)
@pytest.mark.parametrize("sequences", [True, False])
def test_bidirectional_merges_both_directions(mode, sequences):
    model = wrapped(layer=inner(return_sequences=sequences), merge_mode=mode)
    there, back, last, first = directions(X)
    assert_close(answers(model, X)[0], MERGES[mode](there, back) if sequences else MERGES[mode](last, first))


def test_bidirectional_returns_both_directions_and_their_states():
    layer = inner(return_sequences=True, return_state=True)
    there, back, last, first = directions(X)
    actual = answers(wrapped(layer=layer, merge_mode=None, outputs=4), X)
    for value, expected in zip(actual, [there, back, last, first], strict=True):
        assert_close(value, expected)


@pytest.mark.parametrize(("version", "zeros"), [("2.3.1", False), ("2.2.4-tf", True), ("3.15.1", True)])
def test_masked_steps_of_bidirectional(version, zeros):
    embedding = ("Embedding", {"input_dim": 4, "output_dim": IN, "mask_zero": True})
    layers = [embedding, ("Bidirectional", {"layer": inner(return_sequences=True)})]
    config = sequential(*layers, shape=(None, None), dtype="int32")
    model = built(config, {"l0": [TABLE], "l1": [*FORWARD, *BACKWARD]}, version)
    there, back, _, _ = directions(TABLE[IDS], IDS != 0, zeros=zeros)
    assert_close(answers(model, IDS)[0], np.concatenate([there, back], -1))


def test_bidirectional_with_a_backward_layer_and_initial_states():
    inputs = {"x": ((None, None, IN), "float32"), "y": ((None, H), "float32"), "z": ((None, H), "float32")}
    options = {"layer": inner(), "backward_layer": inner(go_backwards=True, activation="linear")}
    config = functional(inputs, {"b": ("Bidirectional", options, ["x", "y", "z"])}, [("b", 0)])
    w, u, b = BACKWARD
    y, z = numbers(2, H), numbers(2, H)
    _, (last,) = recurrences.run(recurrences.simple_rnn(*FORWARD), X, [y])
    _, (first,) = recurrences.run(lambda x, s: [x @ w + s[0] @ u + b], X[:, ::-1], [z])
    (actual,) = answers(built(config, {"b": [*FORWARD, *BACKWARD]}), X, y, z)
    assert_close(actual, np.concatenate([last, first], -1))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layer": inner(), "merge_mode": "max"}, CannotRun, "merge_mode `max` is unknown"),
        ({"layer": 3}, UnreadableFile, "expected a layer with a `class_name`"),
        ({"layer": {"class_name": "SimpleRNN"}}, CannotRun, "the option `units` is missing"),
        ({}, CannotRun, "the option `layer` is missing"),
    ],
)
def test_what_bidirectional_cannot_wrap(options, error, message):
    with pytest.raises(error, match=message):
        wrapped(**options)


@pytest.mark.parametrize("shape", [(None, None, IN), (None, 4, IN), (2, None, IN), (2, 4, IN)])
def test_time_distributed_applies_a_layer_to_each_step(shape):
    dense = {"class_name": "Dense", "config": {"units": H}}
    model = built(sequential(("TimeDistributed", {"layer": dense}), shape=shape), {"l0": DENSE})
    assert_close(answers(model, X)[0], X @ DENSE[0] + DENSE[1])


def test_time_distributed_applies_a_model_of_unknown_sizes():
    model = sequential(("LSTM", {"units": H, "return_sequences": True}), shape=(None, None, IN))
    weights = [numbers(IN, 4 * H), numbers(H, 4 * H), numbers(4 * H)]
    x = numbers(2, 3, 5, IN)
    alone = answers(built(model, {"l0": weights}), x.reshape(6, 5, IN))[0]
    shape = (None, None, None, IN)
    (actual,) = answers(
        built(sequential(("TimeDistributed", {"layer": model}), shape=shape), {"l0": weights}), x
    )
    assert_close(actual, alone.reshape(2, 3, 5, H))


def test_the_mask_of_the_time_passes_through_time_distributed():
    dense = {"class_name": "Dense", "config": {"units": IN, "use_bias": False}}
    embedding = ("Embedding", {"input_dim": 4, "output_dim": IN, "mask_zero": True})
    layers = [embedding, ("TimeDistributed", {"layer": dense}), ("SimpleRNN", {"units": H})]
    model = built(
        sequential(*layers, shape=(None, None), dtype="int32"),
        {"l0": [TABLE], "l1": [np.eye(IN, dtype="f")], "l2": FORWARD},
    )
    _, (last,) = recurrences.run(recurrences.simple_rnn(*FORWARD), TABLE[IDS], ZEROS, IDS != 0)
    assert_close(answers(model, IDS)[0], last)


def test_a_layer_below_the_time_gives_each_step_its_mask():
    embedding = {"class_name": "Embedding", "config": {"input_dim": 4, "output_dim": IN, "mask_zero": True}}
    rnn = {"class_name": "SimpleRNN", "config": {"units": H}}
    layers = [("TimeDistributed", {"layer": embedding}), ("TimeDistributed", {"layer": rnn})]
    config = sequential(*layers, shape=(None, 2, None), dtype="int32")
    model = built(config, {"l0": [TABLE], "l1": FORWARD})
    ids = np.stack([IDS, IDS[::-1]], 1)
    for step in range(2):
        part = ids[:, step]
        _, (last,) = recurrences.run(recurrences.simple_rnn(*FORWARD), TABLE[part], ZEROS, part != 0)
        assert_close(answers(model, ids)[0][:, step], last)
