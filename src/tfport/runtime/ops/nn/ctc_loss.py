"""The loss of one sequence of logits for its labels, and its gradient, by sums over all alignments."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed


def loss_and_gradient(
    logits: Any, labels: Any, blank: int, *, collapse: bool, merge: bool, ignore: bool
) -> tuple[Any, Any]:
    """For logits (time, classes); `collapse` repeated labels first, `merge` those that are decoded."""
    steps, classes = logits.shape
    labels = _checked(np.asarray(labels), classes, blank, collapse)
    if len(labels) > steps:
        if not ignore:
            raise RunFailed(f"{steps} steps are not enough for {len(labels)} labels")
        return logits.dtype.type(0), np.zeros_like(logits)
    wide = logits.astype(np.float64)
    log_y = wide - np.logaddexp.reduce(wide, axis=1, keepdims=True)
    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)
    skips[3::2] = labels[1:] != labels[:-1] if merge else True
    forward = _alpha(log_y, states, skips, merge)
    backward = _alpha(log_y[::-1], states[::-1], _mirrored(skips), merge)[::-1, ::-1]
    total = np.logaddexp.reduce(forward[-1][-2:])
    if not np.isfinite(total):
        return logits.dtype.type(np.inf), np.exp(log_y).astype(logits.dtype)
    # both sums count the label of their own step
    both = forward + backward - log_y[:, states] - total
    posterior = np.full_like(log_y, -np.inf)
    for s, label in enumerate(states):
        posterior[:, label] = np.logaddexp(posterior[:, label], both[:, s])
    gradient = np.exp(log_y) - np.exp(posterior)
    return logits.dtype.type(-total), gradient.astype(logits.dtype)


def _checked(labels: Any, classes: int, blank: int, collapse: bool) -> Any:
    """The labels that count; behind the last there may be blanks."""
    if not labels.size:
        raise RunFailed("there are no labels")
    if labels.min() < 0:
        raise RunFailed(f"labels {labels.tolist()} below zero")
    if collapse:
        labels = labels[np.concatenate([[True], labels[1:] != labels[:-1]])]
    null = labels >= classes - 1 if blank else labels == blank
    if (null[:-1] & ~null[1:]).any() or labels[~null].max(initial=0) >= classes:
        raise RunFailed(f"labels {labels.tolist()} of {classes} classes, of which {blank} is the blank")
    return labels[~null]


def _mirrored(skips: Any) -> Any:
    """Where two may be skipped when states are gone through backwards."""
    turned = np.zeros_like(skips)
    turned[2:] = skips[::-1][:-2]
    return turned


def _alpha(log_y: Any, states: Any, skips: Any, merge: bool) -> Any:
    """The log probability of each state at each step, over all ways that lead there."""
    out = np.full((len(log_y), len(states)), -np.inf)
    out[0, :2] = log_y[0, states[:2]]
    # without merging, a label that stays would be another label of the same kind
    stays = np.ones(len(states), bool)
    if not merge:
        stays[1::2] = False
    for t in range(1, len(log_y)):
        before = out[t - 1]
        arrived = np.where(stays, before, -np.inf)
        arrived[1:] = np.logaddexp(arrived[1:], before[:-1])
        arrived[2:] = np.where(skips[2:], np.logaddexp(arrived[2:], before[:-2]), arrived[2:])
        out[t] = arrived + log_y[t, states]
    return out
