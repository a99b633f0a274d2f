"""Arrays in the layout of PyTorch, in the formulas of its modules, give what real releases of Keras answered.

`tools/truth/torch_layout.py` asks the real PyTorch; its record is compared here too.
"""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tests.frontends.keras.recorded_models import recorded

import tfport
from tfport.fix.weights_file import weights_of

RECORD = json.loads(Path("tests/truth/torch_layout.json").read_text())
WITHOUT_LAYERS = {"GRU", "GRU without bias", "Bidirectional GRU", "MultiHeadAttention"}
"""What needs the layers: exported SavedModels of Keras 3 have ops alone."""


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def linear(x, weight, bias=0.0):
    return x @ weight.T + bias


def convolution(x, weight, bias=0.0, groups=1):
    """Conv1d to Conv3d with strides of 1; the channels of `x` are last."""
    x, rank = np.moveaxis(x, -1, 1), weight.ndim - 2
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], tuple(range(2, x.ndim)))
    space, window = "pqr"[:rank], "uvw"[:rank]
    parts = zip(np.split(windows, groups, axis=1), np.split(weight, groups), strict=True)
    equation = f"ni{space}{window},oi{window}->n{space}o"
    return np.concatenate([np.einsum(equation, *part) for part in parts], axis=-1) + bias


def transposed_convolution(x, weight, bias=0.0):
    """ConvTranspose1d to ConvTranspose3d with strides of 1: each number adds a kernel to the result."""
    sizes = [n + k - 1 for n, k in zip(x.shape[1:-1], weight.shape[2:], strict=True)]
    result = np.zeros((len(x), *sizes, weight.shape[1]))
    for at in product(*map(range, weight.shape[2:])):
        moved = tuple(slice(i, i + n) for i, n in zip(at, x.shape[1:-1], strict=True))
        result[(slice(None), *moved)] += x @ weight[(slice(None), slice(None), *at)]
    return result + bias


def lstm(x, ih, hh, bias):
    h = c = np.zeros((len(x), hh.shape[1]))
    steps = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(linear(x[:, t], ih, bias) + linear(h, hh), 4, axis=-1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        steps.append(h)
    return np.stack(steps, 1)


def gru(x, ih, hh, bias):
    h, steps = np.zeros((len(x), hh.shape[1])), []
    for t in range(x.shape[1]):
        (ri, zi, ni) = np.split(linear(x[:, t], ih, bias[0]), 3, axis=-1)
        (rh, zh, nh) = np.split(linear(h, hh, bias[1]), 3, axis=-1)
        r, z = sigmoid(ri + rh), sigmoid(zi + zh)
        h = (1 - z) * np.tanh(ni + r * nh) + z * h
        steps.append(h)
    return np.stack(steps, 1)


def both_ways(cell, x, arrays):
    ways = [
        [arrays[f"{way}/{name}"] for name in ("kernel", "recurrent_kernel", "bias")]
        for way in ("forward_layer/cell", "backward_layer/cell")
    ]
    return np.concatenate([cell(x, *ways[0]), cell(x[:, ::-1], *ways[1])[:, ::-1]], axis=-1)


def attention(query, value, a, heads):
    """scaled_dot_product_attention between the projections of MultiheadAttention."""
    sources = {"query": query, "key": value, "value": value}
    q, k, v = (
        linear(x, a[f"{n}_dense/kernel"], a[f"{n}_dense/bias"]).reshape(*x.shape[:2], heads, -1)
        for n, x in sources.items()
    )
    scores = np.einsum("nqhd,nkhd->nhqk", q, k) / np.sqrt(q.shape[-1])
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = np.einsum("nhqk,nkhd->nqhd", scores / scores.sum(-1, keepdims=True), v)
    return linear(mixed.reshape(*query.shape[:2], -1), a["output_dense/kernel"], a["output_dense/bias"])


def of_cell(cell):
    return lambda x, a: cell(x, a["cell/kernel"], a["cell/recurrent_kernel"], a["cell/bias"])


FORMULAS = {
    "Dense_plain": ("core", lambda x, a: linear(x, a["kernel"], a["bias"])),
    "Embedding_plain": ("core", lambda x, a: a["embeddings"][x]),
    "Conv1D_plain": ("convolution", lambda x, a: convolution(x, a["kernel"], a["bias"])),
    "Conv2D_plain": ("convolution", lambda x, a: convolution(x, a["kernel"], a["bias"])),
    "Conv2D_groups": ("convolution", lambda x, a: convolution(x, a["kernel"], a["bias"], 2)),
    "Conv3D_plain": ("convolution", lambda x, a: convolution(x, a["kernel"], a["bias"])),
    "Conv1DTranspose_plain": ("convolution", lambda x, a: transposed_convolution(x, a["kernel"], a["bias"])),
    "Conv2DTranspose_plain": ("convolution", lambda x, a: transposed_convolution(x, a["kernel"], a["bias"])),
    "Conv3DTranspose_plain": ("convolution", lambda x, a: transposed_convolution(x, a["kernel"], a["bias"])),
    "DepthwiseConv1D_multiplier": ("convolution", lambda x, a: depthwise(x, a)),
    "DepthwiseConv2D_multiplier": ("convolution", lambda x, a: depthwise(x, a)),
    "LSTM_sequences": ("recurrent", of_cell(lstm)),
    "GRU_sequences": ("recurrent", of_cell(gru)),
    "Bidirectional_LSTM_concat_sequences": ("recurrent", lambda x, a: both_ways(lstm, x, a)),
    "Bidirectional_GRU_concat_sequences": ("recurrent", lambda x, a: both_ways(gru, x, a)),
    "MultiHeadAttention_plain": ("attention", lambda q, v, a: attention(q, v, a, 2)),
}


def depthwise(x, arrays):
    kernel = next(arrays[name] for name in ("kernel", "depthwise_kernel") if name in arrays)
    return convolution(x, kernel, arrays["bias"], groups=x.shape[-1])


@pytest.mark.parametrize("release", ["tensorflow-2.15.1", "keras-3.15.1"])
@pytest.mark.parametrize("case", FORMULAS)
def test_the_formula_of_torch_gives_the_answer_of_keras(tmp_path, case, release):
    family, formula = FORMULAS[case]
    model = next(m for m in recorded(family, release) if m.case == case)
    named = weights_of(tfport.load(str(model.write(tmp_path))))
    arrays = {w.name.partition("/")[2]: w.array("torch").astype(np.float64) for w in named}
    for inputs, (answer, *_) in model.questions():
        assert np.allclose(formula(*inputs, arrays), answer, rtol=1e-4, atol=1e-5)


def test_a_gru_that_resets_before_stays_as_it_is(tmp_path):
    model = next(m for m in recorded("recurrent", "tensorflow-2.15.1") if m.case == "GRU_reset_before")
    for weight in weights_of(tfport.load(str(model.write(tmp_path)))):
        assert np.array_equal(weight.array("torch"), weight.read())


def test_torch_itself_answered_as_keras():
    assert len(RECORD) >= 4
    for source, row in RECORD.items():
        assert len(row["differences"]) >= 22
        for layer, difference in row["differences"].items():
            without = source.endswith("exported") and layer in WITHOUT_LAYERS
            assert without or (isinstance(difference, float) and difference < 1e-5), f"{source}: {layer}"
