"""Attention, against NumPy: masks, several heads, what versions do differently."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.built_models import built

import tfport

RNG = np.random.default_rng(3)
QUERY, VALUE = (RNG.standard_normal(shape).astype("f") for shape in ((2, 3, 4), (2, 5, 4)))
QUERY_MASK, VALUE_MASK = (
    np.array([[1, 1, 0], [1, 0, 1]], bool),
    np.array([[1, 0, 1, 1, 1], [1, 1, 1, 0, 0]], bool),
)


def softmax(x):
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def run(class_name, config, weights=(), call=None, version="2.15.0", masks=False):
    """The answer of a layer of a query and a value."""
    arrays = {"q": QUERY, "v": VALUE}
    if masks:
        arrays |= {"qm": QUERY_MASK, "vm": VALUE_MASK}
    layers = [
        {"class_name": "InputLayer", "name": name, "inbound_nodes": [],
         "config": {"name": name, "batch_shape": [None, *a.shape[1:]], "dtype": a.dtype.name}}
        for name, a in arrays.items()
    ]  # fmt: skip
    kwargs = dict(call or {})
    if class_name == "MultiHeadAttention":
        node = [["q", 0, 0, {"value": ["v", 0, 0], **kwargs}]]
    else:
        if masks:
            kwargs["mask"] = [["qm", 0, 0], ["vm", 0, 0]]
        node = [[["q", 0, 0, kwargs], ["v", 0, 0, kwargs]]]
    layers.append(
        {"class_name": class_name, "name": "a", "config": {"name": "a", **config}, "inbound_nodes": node}
    )
    stored = {
        "name": "m",
        "layers": layers,
        "input_layers": [[n, 0, 0] for n in arrays],
        "output_layers": [["a", 0, 0]],
    }
    model = built({"class_name": "Functional", "config": stored}, {"a": list(weights)}, version)
    return tfport.Session(model).signature("serving_default")(**arrays)["a"]


SCORES = QUERY @ VALUE.transpose(0, 2, 1)
CAUSAL = np.tril(np.ones((3, 5), bool))


@pytest.mark.parametrize(
    ("config", "weights", "call", "scores"),
    [
        ({}, [], {}, SCORES),
        ({"use_scale": True}, [np.float32(0.3)], {}, SCORES * 0.3),
        ({"causal": True}, [], {}, np.where(CAUSAL, SCORES, -1e9)),
        ({}, [], {"use_causal_mask": True}, np.where(CAUSAL, SCORES, -1e9)),
        (
            {"score_mode": "concat"},
            [np.float32(2.0)],
            {},
            2 * np.tanh(QUERY[:, :, None] + VALUE[:, None]).sum(-1),
        ),
    ],
)
def test_attention(config, weights, call, scores):
    np.testing.assert_allclose(
        run("Attention", config, weights, call), softmax(scores) @ VALUE, rtol=1e-5, atol=1e-6
    )


def test_additive_attention():
    scale = np.float32([1, 2, 3, 4])
    scores = (scale * np.tanh(QUERY[:, :, None] + VALUE[:, None])).sum(-1)
    answer = run("AdditiveAttention", {}, [scale])
    np.testing.assert_allclose(answer, softmax(scores) @ VALUE, rtol=1e-5, atol=1e-6)


def test_masks_hide_values_and_clear_queries():
    scores = np.where(VALUE_MASK[:, None], SCORES, -1e9)
    expected = (softmax(scores) @ VALUE) * QUERY_MASK[..., None]
    np.testing.assert_allclose(run("Attention", {}, masks=True), expected, rtol=1e-5, atol=1e-6)


WEIGHTS = [
    RNG.standard_normal(shape).astype("f")
    for shape in [(4, 2, 3), (2, 3), (4, 2, 3), (2, 3), (4, 2, 3), (2, 3), (2, 3, 4), (4,)]
]


def multi_head(mask=None):
    wq, bq, wk, bk, wv, bv, wo, bo = WEIGHTS
    q, k, v = (
        np.einsum("btd,dnh->bnth", x, w) + b[:, None]
        for x, w, b in ((QUERY, wq, bq), (VALUE, wk, bk), (VALUE, wv, bv))
    )
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(3)
    weights = softmax(scores if mask is None else np.where(mask, scores, -1e9))
    return np.einsum("bnth,nhd->btd", weights @ v, wo) + bo


@pytest.mark.parametrize("version", ["2.4.0", "2.15.0", "3.0.5", "3.15.1"])
@pytest.mark.parametrize("call", [{}, {"use_causal_mask": True}])
def test_multi_head_attention(call, version):
    config = {"num_heads": 2, "key_dim": 3}
    answer = run("MultiHeadAttention", config, WEIGHTS, call, version)
    np.testing.assert_allclose(answer, multi_head(CAUSAL if call else None), rtol=1e-5, atol=2e-6)
