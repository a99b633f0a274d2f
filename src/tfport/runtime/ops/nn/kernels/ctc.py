"""Connectionist temporal classification (CTC): greedy decoding, beam search and loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


def _check(inputs, sequence_length):
    if inputs.ndim != 3:
        raise RunFailed(f"inputs must have shape (time, batch, classes), found {inputs.shape}")
    if not inputs.size:
        raise RunFailed(f"inputs must not be empty, found shape {inputs.shape}")
    if sequence_length.shape != (inputs.shape[1],):
        raise RunFailed(f"sequence_length must have shape {inputs.shape[1:2]}, found {sequence_length.shape}")
    if sequence_length.size and sequence_length.max() > len(inputs):
        raise RunFailed(f"sequence_length must not exceed {len(inputs)}, found {sequence_length.max()}")


@host("CTCGreedyDecoder")
def greedy(inputs, sequence_length, *, merge_repeated, blank_index):
    _check(inputs, sequence_length)
    classes = inputs.shape[2]
    blank = blank_index + classes if blank_index < 0 else blank_index
    if not 0 <= blank < classes:
        raise RunFailed(f"blank_index must be in [{-classes}, {classes}), found {blank_index}")
    best = np.argmax(inputs, axis=2)
    active = np.arange(len(inputs))[:, None] < sequence_length
    log_probability = -np.where(active, np.max(inputs, axis=2, initial=-np.inf), 0).sum(axis=0)
    kept = active & (best != blank)
    if merge_repeated:
        kept[1:] &= best[1:] != best[:-1]
    paths = [best[kept[:, b], b].tolist() for b in range(inputs.shape[1])]
    return (*_sparse(paths), log_probability[:, None])


@host("CTCBeamSearchDecoder")
def beam_search(inputs, sequence_length, *, beam_width, top_paths, merge_repeated):
    _check(inputs, sequence_length)
    if top_paths > beam_width:
        raise RunFailed(f"top_paths must not exceed beam_width {beam_width}, found {top_paths}")
    decoded = [
        best_paths(inputs[: max(int(n), 0), b], beam_width, top_paths, merge_repeated)
        for b, n in enumerate(sequence_length)
    ]
    tensors = [_sparse([paths[k][0] for paths in decoded]) for k in range(top_paths)]
    scores = np.array([[score for _, score in paths] for paths in decoded], inputs.dtype)
    columns = [list(part) for part in zip(*tensors, strict=True)]
    return (*columns, scores.reshape(len(decoded), top_paths))


def _sparse(paths):
    """Label sequences as indices, values and shape of a sparse tensor."""
    indices = [(b, i) for b, path in enumerate(paths) for i in range(len(path))]
    values = [label for path in paths for label in path]
    longest = max(map(len, paths), default=0)
    return (
        np.array(indices, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array([len(paths), longest], np.int64),
    )


@host("CTCLoss")
def ctc_loss(
    inputs, labels_indices, labels_values, sequence_length, *,
    preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs,
):  # fmt: skip
    return _loss(
        inputs, labels_indices, labels_values, sequence_length, inputs.shape[-1] - 1,
        preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs,
    )  # fmt: skip


@host("CTCLossV2")
def ctc_loss_v2(
    inputs, labels_indices, labels_values, sequence_length, *,
    preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs,
):  # fmt: skip
    """The loss as cuDNN defines it, with the first class as the blank."""
    return _loss(
        inputs, labels_indices, labels_values, sequence_length, 0,
        preprocess_collapse_repeated, ctc_merge_repeated, ignore_longer_outputs_than_inputs,
    )  # fmt: skip


def _loss(inputs, indices, values, lengths, blank, collapse, merge, ignore):
    _check(inputs, lengths)
    if indices.shape[0] != values.shape[0]:
        raise RunFailed(
            f"labels_indices and labels_values must have the same length, "
            f"found {indices.shape[0]} and {values.shape[0]}"
        )
    batch = inputs.shape[1]
    if indices.size and (indices[:, 0].min() < 0 or indices[:, 0].max() >= batch):
        raise RunFailed(f"batch indices of labels must be in [0, {batch}), found {indices[:, 0].tolist()}")
    loss = np.zeros(batch, inputs.dtype)
    gradient = np.zeros_like(inputs)
    for b in range(batch):
        labels = values[indices[:, 0] == b]
        steps = int(lengths[b])
        if steps > 0 or not ignore:
            loss[b], gradient[:steps, b] = loss_and_gradient(
                inputs[:steps, b], labels, blank, collapse=collapse, merge=merge, ignore=ignore
            )
    return loss, gradient


# Beam search for the most probable label sequences of one matrix of CTC logits.
#
# A prefix has two log probabilities: of ending in its last label, and of ending in a blank.
# If a prefix and its extension are both in the beam, the paths that lead from one to the other
# are added to the extension.

IMPOSSIBLE = -np.inf


class _Prefix:
    """A parent prefix and one more label; `before` holds total and blank of the previous step."""

    __slots__ = ("before", "children", "ends_blank", "ends_label", "label", "parent", "total")

    def __init__(self, parent: _Prefix | None, label: int) -> None:
        self.parent, self.label = parent, label
        self.children: dict[int, _Prefix] = {}
        self.total = self.ends_blank = self.ends_label = np.float32(IMPOSSIBLE)
        self.before = (self.total, self.ends_blank)

    def remove(self) -> None:
        """Leave the beam; children may still use `before` in this step."""
        self.total = self.ends_blank = self.ends_label = np.float32(IMPOSSIBLE)

    @property
    def is_alive(self) -> bool:
        return bool(self.total != IMPOSSIBLE)

    def labels(self, merge_repeated: bool) -> list[int]:
        labels: list[int] = []
        prefix, last = self, -1
        while prefix.parent is not None:
            if not merge_repeated or prefix.label != last:
                labels.append(prefix.label)
            last = prefix.label
            prefix = prefix.parent
        return labels[::-1]


def best_paths(logits: Any, width: int, count: int, merge_repeated: bool) -> list[tuple[list[int], Any]]:
    """Return label sequences with their log probabilities, best first; the last class is the blank."""
    root = _Prefix(None, -1)
    root.total = root.ends_blank = logits.dtype.type(0)
    beam = [root]
    for row in logits:
        beam = _step(beam, row - np.logaddexp.reduce(row), width)
    paths = [(prefix.labels(merge_repeated), prefix.total) for prefix in beam[:count]]
    return paths + [([], logits.dtype.type(0))] * (count - len(paths))


def _step(beam: list[_Prefix], row: Any, width: int) -> list[_Prefix]:
    """Extend the beam by one time step with log probabilities `row`."""
    blank = len(row) - 1
    for prefix in beam:
        prefix.before = (prefix.total, prefix.ends_blank)
    for prefix in beam:
        parent = prefix.parent
        if parent is not None:
            if parent.is_alive:
                shared = parent.before[1] if prefix.label == parent.label else parent.before[0]
                prefix.ends_label = np.logaddexp(prefix.ends_label, shared)
            prefix.ends_label = prefix.ends_label + row[prefix.label]
        prefix.ends_blank = prefix.before[0] + row[blank]
        prefix.total = np.logaddexp(prefix.ends_blank, prefix.ends_label)
    leaves = sorted(beam, key=lambda p: -p.total)
    for prefix in beam:
        if not _enters_beam(prefix.before[0], leaves, width):
            continue
        for label in range(blank):
            child = prefix.children.get(label)
            if child is None:
                child = prefix.children[label] = _Prefix(prefix, label)
            if child.is_alive:
                continue
            start = prefix.before[1] if label == prefix.label else prefix.before[0]
            total = row[label] + start
            if not _enters_beam(total, leaves, width):
                child.remove()
                child.before = (child.total, child.ends_blank)
                continue
            child.ends_blank = np.float32(IMPOSSIBLE)
            child.ends_label = child.total = total
            if len(leaves) == width:
                leaves.pop().remove()
            _insert(leaves, child)
    return leaves


def _enters_beam(total: Any, leaves: list[_Prefix], width: int) -> bool:
    return bool(total > IMPOSSIBLE and (len(leaves) < width or total > leaves[-1].total))


def _insert(leaves: list[_Prefix], child: _Prefix) -> None:
    """Insert `child` into a list sorted by descending total, after elements with the same total."""
    at = len(leaves)
    while at and leaves[at - 1].total < child.total:
        at -= 1
    leaves.insert(at, child)


# CTC loss of one sequence and its gradient, by the forward-backward algorithm


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
