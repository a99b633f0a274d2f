"""L2Loss, and softmax cross entropy with its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.precision import widen


@host("L2Loss")
def l2_loss(t):
    x = widen(t)
    return np.sum(x * x) / 2


@host("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(features, labels):
    if features.shape != labels.shape:
        try:
            features, labels = np.broadcast_arrays(features, labels)
        except ValueError:
            raise RunFailed(
                f"the shapes of logits and labels must broadcast, found {list(features.shape)} "
                f"and {list(labels.shape)}"
            ) from None
    if features.ndim != 2:
        raise RunFailed(f"logits and labels must have 2 axes, found {features.ndim}")
    labels = widen(labels)
    shifted, total = _shifted_and_sum(features)
    loss = np.sum(labels * (np.log(total) - shifted), axis=1)
    return loss, np.exp(shifted) / total - labels


@host("SparseSoftmaxCrossEntropyWithLogits")
def sparse_softmax_cross_entropy(features, labels):
    if features.ndim != 2 or labels.ndim != 1 or len(features) != len(labels):
        raise RunFailed(
            f"logits and labels must have shapes [batch, classes] and [batch], found "
            f"{list(features.shape)} and {list(labels.shape)}"
        )
    classes = features.shape[1]
    if not classes:
        raise RunFailed(f"logits must have at least one class, found shape {list(features.shape)}")
    if (wrong := labels[(labels < 0) | (labels >= classes)]).size:
        raise RunFailed(f"labels must be in [0, {classes}), found {int(wrong[0])}")
    shifted, total = _shifted_and_sum(features)
    rows = np.arange(len(labels))
    loss = np.log(total[:, 0]) - shifted[rows, labels]
    backprop = np.exp(shifted) / total
    backprop[rows, labels] -= 1
    return loss, backprop


def _shifted_and_sum(features: Any) -> tuple[Any, Any]:
    """The logits minus their maximum, and the sum of the exponentials of that."""
    x = widen(features)
    shifted = x - np.max(x, axis=1, keepdims=True, initial=-np.inf)
    return shifted, np.sum(np.exp(shifted), axis=1, keepdims=True)
