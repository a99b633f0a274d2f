"""Nodes of TensorFlow in models of TensorFlow 1.15 to 2.3: configurations as TensorFlow 1.15 saves them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.frontends.keras.node_models import results

from tfport.errors import CannotRun

X = np.float32([[[0.3, -1.2, 2.0], [0.5, 0.25, -0.75]], [[1.5, -2.5, 0.1], [3.0, -0.2, 0.9]]])
FLOAT, INT = {"type": "DT_FLOAT"}, {"type": "DT_INT32"}


def node(op, inputs=("x",), constants=None, **attrs):
    stored = {"name": "n", "op": op, "input": ["x", "n/y"], "attr": {"T": FLOAT, **attrs}}
    config = {"trainable": True, "dtype": None, "node_def": stored, "constants": constants or {}}
    return {
        "class_name": "TensorFlowOpLayer",
        "config": config,
        "inbound_nodes": [[[name, 0, 0, {}] for name in inputs]],
    }


SLICE = {"Index": INT, "begin_mask": {"i": "3"}, "end_mask": {"i": "1"}, "ellipsis_mask": {"i": "0"}}
CASES = [
    (node("AddV2", constants={"1": 1.0}), X + 1),
    (node("Sub", constants={"0": 1.0}), 1 - X),
    (node("LeakyRelu", alpha={"f": 0.1}), np.where(X > 0, X, X * 0.1)),
    (node("Mean", constants={"1": [1, 2]}, Tidx=INT, keep_dims={"b": False}), X.mean((1, 2))),
    (node("Sum", constants={"1": -1}, Tidx=INT, keep_dims={"b": True}), X.sum(-1, keepdims=True)),
    (node("Reshape", constants={"1": [-1, 6]}), X.reshape(-1, 6)),
    (node("Transpose", constants={"1": [0, 2, 1]}), X.transpose(0, 2, 1)),
    (node("ExpandDims", constants={"1": 1}), X[:, None]),
    (node("ConcatV2", ("x", "x"), {"2": -1}, N={"i": "2"}), np.concatenate([X, X], -1)),
    (node("Pack", ("x", "x"), axis={"i": "1"}, N={"i": "2"}), np.stack([X, X], 1)),
    (node("Cast", SrcT=FLOAT, DstT=INT), X.astype("i4")),
    (node("MatMul", constants={"1": np.eye(3).tolist()}), X),
    (node("GatherV2", constants={"1": [2, 0], "2": 2}), X[..., [2, 0]]),
    (node("StridedSlice", constants={"1": [0, 0, -1], "2": [0, 1, 0], "3": [1, 1, 1]},
          **SLICE, shrink_axis_mask={"i": "4"}), X[:, :1, -1]),
    (node("Softmax"), np.exp(X) / np.exp(X).sum(-1, keepdims=True)),
]  # fmt: skip


def test_nodes_compute_what_numpy_computes():
    for (stored, expected), result in zip(
        CASES, results([n for n, _ in CASES], {"x": X}, "2.2.4-tf"), strict=True
    ):
        op = stored["config"]["node_def"]["op"]
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6, err_msg=op)


def test_a_node_may_be_stored_as_text():
    stored = node("AddV2", constants={"1": 1.0})
    stored["config"]["node_def"] = json.dumps(stored["config"]["node_def"])
    np.testing.assert_allclose(results([stored], {"x": X}, "2.4.0")[0], X + 1)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (node("Unique"), "it computes the op `Unique`, which tfport does not build"),
        ({**node("AddV2"), "config": {"node_def": {}, "constants": {}}}, "its node is not in the file"),
    ],
)
def test_what_cannot_be_built_is_named(stored, message):
    with pytest.raises(CannotRun, match=message):
        results([stored], {"x": X}, "2.2.4-tf")
