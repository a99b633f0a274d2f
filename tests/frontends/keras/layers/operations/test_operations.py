"""Operations of Keras 3 against NumPy, whose functions they are named after."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special
from tests.frontends.keras.node_models import operation, results

X = np.float32([[[0.3, -1.2, 2.0], [0.5, 0.25, -0.75]], [[1.5, -2.5, 0.1], [3.0, -0.2, 0.9]]])
Y = np.float32([[[1.0, 2.0, -0.5], [0.4, -3.0, 2.5]], [[-1.0, 0.7, 0.6], [2.0, 1.1, -0.9]]])
INDICES = np.int32([[2, 0], [1, 2]])


def slice_of(start=None, stop=None, step=None):
    return {"class_name": "__slice__", "config": {"start": start, "stop": stop, "step": step}}


CASES = [
    # operation                                      expected
    (operation("Add", "x", 1), X + 1),
    (operation("Subtract", 1.0, "x"), 1 - X),
    (operation("Add", "i", 0.5), INDICES + np.float32(0.5)),
    (operation("Add", "i", 2), INDICES + 2),
    (operation("TrueDivide", "i", 2), INDICES / np.float32(2)),
    (operation("FloorDivide", "x", 0.5), X // 0.5),
    (operation("Mod", "x", 0.7), np.mod(X, np.float32(0.7))),
    (operation("Power", "x", 2.0), X**2),
    (operation("Maximum", "x", "y"), np.maximum(X, Y)),
    (operation("Greater", "x", "y"), X > Y),
    (operation("LogicalAnd", "i", True), INDICES.astype(bool)),
    (operation("LogicalXor", "i", True), ~INDICES.astype(bool)),
    (operation("Round", "x"), np.round(X)),
    (operation("Round", "x", decimals=1), np.round(X, 1)),
    (operation("Trunc", "x"), np.trunc(X)),
    (operation("Exp2", "x"), np.exp2(X)),
    (operation("Sqrt", "i"), np.sqrt(INDICES.astype("f"))),
    (operation("Logaddexp", "x", "y"), np.logaddexp(X, Y)),
    (operation("Clip", "x", x_min=-1, x_max=0.5), np.clip(X, -1, 0.5)),
    (operation("Cast", "x", dtype="int32"), X.astype("i4")),
    (operation("NanToNum", "x"), X),
    (operation("ZerosLike", "x"), np.zeros_like(X)),
    (operation("FullLike", "x", 3.0), np.full_like(X, 3)),
    (operation("Sum", "x", axis=[1, 2]), X.sum((1, 2))),
    (operation("Mean", "i", axis=1, keepdims=True), INDICES.mean(1, keepdims=True)),
    (operation("Max", "x", axis=-1, initial=1.0), np.maximum(X.max(-1), 1)),
    (operation("Var", "x", axis=[1]), X.var(1)),
    (operation("Std", "x", axis=[1]), X.std(1)),
    (operation("Logsumexp", "x", axis=[2]), special.logsumexp(X, 2)),
    (operation("All", "i", axis=[1]), INDICES.all(1)),
    (operation("CountNonzero", "i", axis=[1]), np.count_nonzero(INDICES, 1)),
    (operation("Average", "x", "y", axis=[1]), (X * Y).sum(1) / Y.sum(1)),
    (operation("Argmax", "x", axis=1), X.argmax(1)),
    (operation("Argmin", "x", axis=2, keepdims=True), X.argmin(2)[..., None]),
    (operation("Norm", "x", ord=1, axis=2), np.abs(X).sum(2)),
    (operation("Norm", "x", axis=[1, 2]), np.sqrt((X**2).sum((1, 2)))),
    (operation("Cumsum", "x", axis=1), X.cumsum(1)),
    (operation("Sort", "x", axis=1), np.sort(X, 1)),
    (operation("Argsort", "x", axis=-1), np.argsort(X, -1)),
    (operation("TopK", "x", k=2), -np.sort(-X)[..., :2]),
    (operation("Reshape", "x", newshape=[-1, 6]), X.reshape(-1, 6)),
    (operation("Transpose", "x", axes=[0, 2, 1]), X.transpose(0, 2, 1)),
    (operation("Swapaxes", "x", axis1=1, axis2=-1), X.swapaxes(1, 2)),
    (operation("Moveaxis", "x", source=2, destination=1), np.moveaxis(X, 2, 1)),
    (operation("ExpandDims", "x", axis=[1, -1]), X[:, None, ..., None]),
    (operation("Concatenate", ["x", "y"], axis=2), np.concatenate([X, Y], 2)),
    (operation("Stack", ["x", "y"], axis=1), np.stack([X, Y], 1)),
    (operation("Split", "x", indices_or_sections=[1], axis=2), X[..., :1]),
    (operation("Unstack", "x", axis=1), X[:, 0]),
    (operation("Tile", "x", repeats=[1, 2, 1]), np.tile(X, (1, 2, 1))),
    (operation("Repeat", "x", repeats=2, axis=2), X.repeat(2, 2)),
    (operation("Pad", "x", pad_width=[[0, 0], [1, 0], [0, 2]]), np.pad(X, ((0, 0), (1, 0), (0, 2)))),
    (operation("Flip", "x", axis=1), X[:, ::-1]),
    (operation("Roll", "x", shift=1, axis=2), np.roll(X, 1, 2)),
    (operation("Take", "x", [-1, 0], axis=2), X[..., [2, 0]]),
    (operation("OneHot", "i", num_classes=3), np.eye(3, dtype="f")[INDICES]),
    (operation("GetItem", "x", [slice_of(), 0, slice_of(None, None, 2)]), X[:, 0, ::2]),
    (operation("GetItem", "x", [slice_of(), None, {"class_name": "__ellipsis__"}, 1]), X[:, None, ..., 1]),
    (operation("Einsum", "x", "y", subscripts="bij,bkj->bik"), np.einsum("bij,bkj->bik", X, Y)),
    (operation("Tensordot", "x", np.eye(3).tolist(), axes=1), X),
    (operation("Softmax", "x", axis=1), special.softmax(X, 1)),
    (operation("LogSoftmax", "x"), special.log_softmax(X, -1)),
    (operation("Gelu", "x", approximate=False), X * special.ndtr(X)),
    (operation("LeakyRelu", "x", negative_slope=0.1), np.where(X > 0, X, X * 0.1)),
    (operation("Normalize", "x", axis=-1, order=2), X / np.linalg.norm(X, axis=-1, keepdims=True)),
    (operation("Moments", "x", axes=[1]), X.mean(1)),
]


def test_operations_compute_what_numpy_computes():
    inputs = {"x": X, "y": Y, "i": INDICES}
    computed = results([node for node, _ in CASES], inputs, "3.15.1")
    wrong = []
    for (node, expected), result in zip(CASES, computed, strict=True):
        same = result.shape == np.shape(expected) and np.allclose(result, expected, rtol=1e-5, atol=1e-6)
        if not same or result.dtype.kind != np.asarray(expected).dtype.kind:
            wrong.append((node["class_name"], node["config"], result, expected))
    assert not wrong


@pytest.mark.parametrize(
    ("node", "message"),
    [
        (operation("Nonzero", "x"), "is of the class `Nonzero`, which tfport does not know"),
        (operation("Where", "i"), "lists the places of elements, whose number is unknown"),
        (operation("Squeeze", "x"), "removes all axes of size 1, and some sizes are unknown"),
        (operation("GetItem", "x", {"class_name": "odd"}), "which tfport does not do"),
        (operation("Einsum", "x", "y", subscripts="ab"), "not one of two tensors and a result"),
        (operation("Pad", "x", pad_width=1, mode="edge"), "pads in the mode `edge`"),
    ],
)
def test_what_cannot_be_built_is_named(node, message):
    from tfport.errors import CannotRun

    with pytest.raises(CannotRun, match=message):
        results([node], {"x": X, "y": Y, "i": INDICES}, "3.15.1")


def test_an_operation_of_an_hdf5_file_has_no_module():
    node = {**operation("Add", "x", 1.0), "module": ""}
    np.testing.assert_array_equal(results([node], {"x": X}, "3.15.1")[0], X + 1)
