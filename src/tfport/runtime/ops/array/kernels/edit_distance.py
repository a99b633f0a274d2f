"""Levenshtein distance of sequences in sparse tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import check_indices


@host("EditDistance")
def edit_distance(
    hypothesis_indices,
    hypothesis_values,
    hypothesis_shape,
    truth_indices,
    truth_values,
    truth_shape,
    *,
    normalize,
):
    """One distance per sequence, divided by the length of the truth if `normalize`."""
    if hypothesis_shape.shape != truth_shape.shape or hypothesis_shape.size < 2:
        raise RunFailed(
            "hypothesis_shape and truth_shape must have the same length, at least 2; "
            f"found {hypothesis_shape.size} and {truth_shape.size}"
        )
    shape = tuple(int(n) for n in np.maximum(hypothesis_shape, truth_shape)[:-1])
    guesses = _sequences(hypothesis_indices, hypothesis_values, shape)
    truths = _sequences(truth_indices, truth_values, shape)
    distances = np.zeros(shape, np.float32)
    for at in guesses.keys() | truths.keys():
        guess, truth = guesses.get(at, []), truths.get(at, [])
        edits = _levenshtein(guess, truth)
        distances[at] = edits if not normalize else edits / len(truth) if truth else math.inf
    return distances


def _sequences(indices, values, shape):
    """The elements of each sequence, by its index."""
    if indices.ndim != 2 or indices.shape != (len(values), len(shape) + 1):
        raise RunFailed(f"indices {list(indices.shape)} do not match {len(values)} values")
    for axis, size in enumerate(shape):
        check_indices(indices[:, axis], size)
    sequences: dict[tuple[int, ...], list[Any]] = {}
    for at, value in zip(map(tuple, indices[:, :-1].tolist()), values.tolist(), strict=True):
        sequences.setdefault(at, []).append(value)
    return sequences


def _levenshtein(left, right):
    above = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, z in enumerate(right, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (a != z)))
        above = row
    return above[-1]
