"""Connectionist temporal classification (CTC): greedy decoding, beam search and loss."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.ctc_beam import best_paths
from tfport.runtime.ops.nn.ctc_loss import loss_and_gradient


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
