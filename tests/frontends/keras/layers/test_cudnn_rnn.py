"""CuDNNLSTM and CuDNNGRU answer as the layers that Keras converts them to."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import answers, built, sequential
from tests.frontends.keras.layers import recurrences

IN, H = 3, 2
RNG = np.random.default_rng(5)
X = RNG.standard_normal((2, 4, IN)).astype("f")


def converted(weights, gates):
    """As `load_weights` of Keras 2 converts: each kernel from memory in the order of cuDNN."""
    kernel, recurrent, bias = weights
    kernels = [k.T.reshape(k.shape, order="F") for k in np.split(kernel, gates, 1)]
    recurrents = [k.T for k in np.split(recurrent, gates, 1)]
    return np.hstack(kernels), np.hstack(recurrents), bias.reshape(2, -1)


@pytest.mark.parametrize(("kind", "gates"), [("CuDNNLSTM", 4), ("CuDNNGRU", 3)])
@pytest.mark.parametrize("backwards", [False, True])
def test_cudnn_layers(kind, gates, backwards):
    shapes = [(IN, gates * H), (H, gates * H), (2 * gates * H,)]
    weights = [RNG.standard_normal(shape).astype("f") for shape in shapes]
    w, u, b = converted(weights, gates)
    lstm = kind == "CuDNNLSTM"
    step = recurrences.lstm(w, u, b.sum(0)) if lstm else recurrences.gru(w, u, b)
    options = {"units": H, "return_sequences": True, "go_backwards": backwards}
    model = built(sequential((kind, options), shape=(None, 4, IN)), {"l0": weights}, "2.2.4-tf")
    x = X[:, ::-1] if backwards else X
    expected, _ = recurrences.run(step, x, [np.zeros((2, H), "f")] * (1 + lstm))
    np.testing.assert_allclose(answers(model, X)[0], expected, rtol=1e-5, atol=1e-6)
