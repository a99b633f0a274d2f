"""Rows of a table, combined, as the kernel computes them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


@host("LiteEmbeddingLookupSparse")
def embedding_lookup_sparse(ids, indices, shape, weights, table, *, combiner):
    """The last axis of the sparse tensor is combined; a place that comes back later is combined anew."""
    sizes = tuple(int(size) for size in shape[:-1])
    if len(shape) != indices.shape[1] or not len(ids) == len(indices) == len(weights):
        raise RunFailed("the rows, indices, weights and shape of a sparse lookup do not fit together")
    if ((ids < 0) | (ids >= len(table))).any():
        raise RunFailed(f"a row of a sparse lookup is not in [0, {len(table) - 1}]")
    if (indices[:, :-1] < 0).any() or (indices[:, :-1] >= np.array(sizes, np.int64)).any():
        raise RunFailed(f"an index of a sparse lookup is outside of the shape {list(shape)}")
    y = np.zeros((int(np.prod(sizes, dtype=np.int64)), *table.shape[1:]), np.float32)
    strides = np.cumprod([1, *sizes[:0:-1]], dtype=np.int64)[::-1][: len(sizes)]
    places = indices[:, :-1].astype(np.int64) @ strides
    for start, end in _runs(places):
        place, factors = places[start], weights[start:end]
        for row, factor in zip(ids[start:end], factors, strict=True):
            y[place] += table[row] * factor
        if combiner != "SUM":
            y[place] /= factors.sum() if combiner == "MEAN" else np.sqrt((factors * factors).sum())
    return y.reshape(*sizes, *table.shape[1:])


def _runs(places: Any) -> list[tuple[int, int]]:
    """Where equal neighbors begin and end."""
    changes = np.flatnonzero(np.diff(places)) + 1
    ends = [0, *changes.tolist(), len(places)]
    return list(pairwise(ends)) if len(places) else []
