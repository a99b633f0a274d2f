"""CTC loss of one sequence and its gradient, by the forward-backward algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed


def loss_and_gradient(
    logits: Any, labels: Any, blank: int, *, collapse: bool, merge: bool, ignore: bool
) -> tuple[Any, Any]:
    """Return the loss and its gradient for logits of shape (time, classes).

    `collapse` merges repeated labels first, `merge` merges repeated decoded labels, and `ignore`
    gives zeros instead of an error for more labels than time steps.
    """
    steps, classes = logits.shape
    labels = _valid_labels(np.asarray(labels), classes, blank, collapse)
    if len(labels) > steps:
        if not ignore:
            raise RunFailed(f"the number of labels must not exceed {steps} time steps, found {len(labels)}")
        return logits.dtype.type(0), np.zeros_like(logits)
    wide = logits.astype(np.float64)
    log_y = wide - np.logaddexp.reduce(wide, axis=1, keepdims=True)
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)  # whether a path may come from two states before
    skips[3::2] = labels[1:] != labels[:-1] if merge else True
    forward = _alpha(log_y, states, skips, merge)
    backward = _alpha(log_y[::-1], states[::-1], _mirrored(skips), merge)[::-1, ::-1]
    total = np.logaddexp.reduce(forward[-1][-2:])
    if not np.isfinite(total):
        return logits.dtype.type(np.inf), np.exp(log_y).astype(logits.dtype)
    # forward and backward both include the label of the step
    both = forward + backward - log_y[:, states] - total
    posterior = np.full_like(log_y, -np.inf)
    for s, label in enumerate(states):
        posterior[:, label] = np.logaddexp(posterior[:, label], both[:, s])
    gradient = np.exp(log_y) - np.exp(posterior)
    return logits.dtype.type(-total), gradient.astype(logits.dtype)


def _valid_labels(labels: Any, classes: int, blank: int, collapse: bool) -> Any:
    """The labels without trailing blanks; RunFailed if a label is invalid."""
    if not labels.size:
        raise RunFailed("a sequence must have at least one label")
    if labels.min() < 0:
        raise RunFailed(f"labels must not be negative, found {labels.tolist()}")
    if collapse:
        labels = labels[np.concatenate([[True], labels[1:] != labels[:-1]])]
    null = labels >= classes - 1 if blank else labels == blank
    if (null[:-1] & ~null[1:]).any() or labels[~null].max(initial=0) >= classes:
        raise RunFailed(
            f"labels must be in [0, {classes}), with the blank {blank} only at the end, "
            f"found {labels.tolist()}"
        )
    return labels[~null]


def _mirrored(skips: Any) -> Any:
    """`skips` for the states in reverse order."""
    reverse = np.zeros_like(skips)
    reverse[2:] = skips[::-1][:-2]
    return reverse


def _alpha(log_y: Any, states: Any, skips: Any, merge: bool) -> Any:
    """The log probability of each state at each step, summed over all paths that lead to it."""
    out = np.full((len(log_y), len(states)), -np.inf)
    out[0, :2] = log_y[0, states[:2]]
    # without merging, staying in a label would emit the label once more
    stays = np.ones(len(states), bool)
    if not merge:
        stays[1::2] = False
    for t in range(1, len(log_y)):
        before = out[t - 1]
        reached = np.where(stays, before, -np.inf)
        reached[1:] = np.logaddexp(reached[1:], before[:-1])
        reached[2:] = np.where(skips[2:], np.logaddexp(reached[2:], before[:-2]), reached[2:])
        out[t] = reached + log_y[t, states]
    return out
