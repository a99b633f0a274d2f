"""Functions of TensorFlow in models of Keras 2, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from tests.frontends.keras.node_models import function, results

from tfport.errors import CannotRun

X = np.float32([[[0.3, -1.2, 2.0], [0.5, 0.25, -0.75]], [[1.5, -2.5, 0.1], [3.0, -0.2, 0.9]]])
Y = np.float32([[[1.0, 2.0, -0.5], [0.4, -3.0, 2.5]], [[-1.0, 0.7, 0.6], [2.0, 1.1, -0.9]]])
INDICES = np.int32([[2, 0], [1, 2]])


def slice_of(start=None, stop=None, step=None):
    return {"start": start, "stop": stop, "step": step}


def softmax(x, axis):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


CASES = [
    # function                                                 expected
    (function("math.xlogy", "x", y=2.0), X * np.float32(np.log(2))),
    (function("linalg.band_part", "x", num_lower=0, num_upper=-1), np.triu(X)),
    (function("math.segment_sum", "x", segment_ids=[0, 0]), X.sum(0, keepdims=True)),
    (
        function("tensor_scatter_nd_add", "x", indices=[[0]], updates=np.ones((1, 2, 3)).tolist()),
        X + np.float32([[[1]], [[0]]]),
    ),
    (function("__operators__.add", "x", y="y", name=None), X + Y),
    (function("math.subtract", "x", y=1.0), X - 1),
    (function("math.truediv", "i", y=2), INDICES / 2),
    (function("compat.v1.floor_div", "x", y=0.5), X // 0.5),
    (function("math.floormod", "x", y=0.7), np.mod(X, np.float32(0.7))),
    (function("math.square", "x"), X**2),
    (function("math.greater_equal", "x", y="y"), X >= Y),
    (function("clip_by_value", "x", clip_value_min=-1.0, clip_value_max=0.5), np.clip(X, -1, 0.5)),
    (function("cast", "x", dtype="int32"), X.astype("i4")),
    (function("math.add_n", ["x", "y"]), X + Y),
    (function("math.reduce_mean", "x", axis=[1, 2], keepdims=True), X.mean((1, 2), keepdims=True)),
    (function("math.reduce_std", "x", axis=1), X.std(1)),
    (function("math.reduce_logsumexp", "x", axis=2), np.log(np.exp(X).sum(2))),
    (function("linalg.norm", "x", axis=2), np.linalg.norm(X, axis=2)),
    (function("math.argmax", "x", axis=1), X.argmax(1)),
    (function("math.cumsum", "x", axis=2, exclusive=True), X.cumsum(2) - X),
    (function("math.top_k", "x", k=2), -np.sort(-X)[..., :2]),
    (function("reshape", "x", shape=[-1, 6]), X.reshape(-1, 6)),
    (function("compat.v1.transpose", "x", perm=[0, 2, 1], name="t"), X.transpose(0, 2, 1)),
    (function("expand_dims", "x", axis=1), X[:, None]),
    (function("concat", ["x", "y"], axis=-1), np.concatenate([X, Y], -1)),
    (function("stack", ["x", "y"], axis=2), np.stack([X, Y], 2)),
    (function("unstack", "x", axis=1), X[:, 0]),
    (function("split", "x", num_or_size_splits=[1, -1], axis=2), X[..., :1]),
    (function("tile", "x", multiples=[1, 1, 2]), np.tile(X, (1, 1, 2))),
    (function("repeat", "x", repeats=[1, 2], axis=1), X.repeat([1, 2], 1)),
    (function("reverse", "x", axis=[1, 2]), X[:, ::-1, ::-1]),
    (function("roll", "x", shift=[1, -1], axis=[1, 2]), np.roll(X, (1, -1), (1, 2))),
    (function("compat.v1.pad", "x", paddings=[[0, 0], [1, 0], [0, 2]]), np.pad(X, ((0, 0), (1, 0), (0, 2)))),
    (function("pad", "x", paddings=[[0, 0], [1, 1], [0, 0]], mode="REFLECT"), X[:, [1, 0, 1, 0]]),
    (function("compat.v1.gather", "x", indices=[2, 0], axis=2, batch_dims=0), X[..., [2, 0]]),
    (function("one_hot", "i", depth=3, on_value=2.0), 2 * np.eye(3, dtype="f")[INDICES]),
    (function("compat.v1.shape", "x"), np.int32([2, 2, 3])),
    (function("linalg.matmul", "x", b="y", transpose_b=True), X @ Y.transpose(0, 2, 1)),
    (function("tensordot", "x", b=[[1.0], [2.0], [3.0]], axes=1), X @ np.float32([[1], [2], [3]])),
    (function("nn.softmax", "x", axis=1), softmax(X, 1)),
    (function("nn.silu", "x"), X / (1 + np.exp(-X))),
    (function("math.l2_normalize", "x", axis=-1), X / np.linalg.norm(X, axis=-1, keepdims=True)),
    (function("nn.moments", "x", axes=[1]), X.mean(1)),
    (
        function("__operators__.getitem", "x", slice_spec=[slice_of(), 0, slice_of(None, None, 2)]),
        X[:, 0, ::2],
    ),
    (function("where", "i", x="i", y=9), np.where(INDICES, INDICES, 9)),
]


def test_functions_compute_what_numpy_computes():
    computed = results([node for node, _ in CASES], {"x": X, "y": Y, "i": INDICES}, "2.15.0")
    wrong = []
    for (node, expected), result in zip(CASES, computed, strict=True):
        if result.shape != np.shape(expected) or not np.allclose(result, expected, rtol=1e-5, atol=1e-6):
            wrong.append((node["config"]["function"], result, expected))
    assert not wrong


def test_integers_are_divided_in_double_precision():
    assert results([function("math.truediv", "i", y=2)], {"i": INDICES}, "2.15.0")[0].dtype == np.float64


def test_strings():
    text = np.array([["Ab c"], [" D1 "]], object)
    nodes = [
        function("strings.lower", "x"),
        function("strings.strip", "x"),
        function("strings.length", "x"),
        function("strings.regex_replace", "x", pattern="[a-z]", rewrite="-"),
    ]
    lower, strip, length, replaced = results(nodes, {"x": text}, "2.15.0")
    assert lower.tolist() == [[b"ab c"], [b" d1 "]]
    assert strip.tolist() == [[b"Ab c"], [b"D1"]]
    assert length.tolist() == [[4], [4]]
    assert replaced.tolist() == [[b"A- -"], [b" D1 "]]


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (function("nowhere.to_be", "x"), "calls `tf.nowhere.to_be`, which tfport does not build"),
        (function("math.add", "x", y=1.0, odd=2), "the argument `odd` of its call is unknown"),
        (function("gather", "x", indices=[0], batch_dims=1), "gathers with batch dimensions"),
        (function("where", "i"), "lists the places of elements"),
    ],
)
def test_what_cannot_be_built_is_named(node, message):
    with pytest.raises(CannotRun, match=message):
        results([node], {"x": X, "y": Y, "i": INDICES}, "2.15.0")


def test_the_operands_of_einsum_are_not_in_files_of_keras_2():
    node = function("einsum", "x")
    node["inbound_nodes"] = [["_CONSTANT_VALUE", -1, "bij,bkj->bik", {}]]
    with pytest.raises(CannotRun, match="Keras 2 loses them"):
        results([node], {"x": X}, "2.15.0")
