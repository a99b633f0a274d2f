"""Counts of each value per row, as dense bins or as a sparse tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.sparse.coordinates import in_bounds, sizes, summed
from tfport.runtime.ops.sparse.kernels.dense import bounded_size


def rows_of_splits(splits: Any, count: int) -> tuple[int, Any]:
    """The number of rows, and the row of each value."""
    check_splits(splits, count)
    lengths = np.diff(splits)
    return len(lengths), np.repeat(np.arange(len(lengths)), lengths)


def rows_of_sparse(indices: Any, values: Any, shape: Any) -> tuple[int | None, Any]:
    """The same for a sparse tensor; no number of rows if it has one axis."""
    dims = sizes(shape)
    if indices.ndim != 2 or indices.shape != (len(values), len(dims)) or len(dims) not in (1, 2):
        raise RunFailed(
            f"indices {list(indices.shape)} do not match {len(values)} values of shape {list(dims)}"
        )
    in_bounds(indices, dims)
    return (dims[0], indices[:, 0]) if len(dims) == 2 else (None, np.zeros(len(values), np.int64))


def _weights(weights: Any, values: Any) -> Any:
    if weights.size and weights.shape != values.shape:
        raise RunFailed(
            f"weights {list(weights.shape)} must be empty or have the shape of values {list(values.shape)}"
        )
    return weights.reshape(-1) if weights.size else None


def _not_negative(values: Any) -> None:
    if values.size and values.min() < 0:
        raise RunFailed(f"values must not be negative, found {values.min()}")


def bincounts(rows: int | None, row_of: Any, values: Any, size: Any, weights: Any, binary: bool) -> Any:
    if size.size != 1 or size.reshape(-1)[0] < 0:
        raise RunFailed(f"size must be a scalar that is not negative, found {size.tolist()}")
    _not_negative(values)
    count, value_weights = int(size.reshape(-1)[0]), _weights(weights, values)
    kept = values < count
    height = 1 if rows is None else rows
    total = bounded_size((height, count))
    where = row_of[kept].astype(np.int64) * count + values[kept]
    if binary:
        out = np.zeros(total, weights.dtype)
        out[where] = 1
    else:
        each = np.ones(len(where), weights.dtype) if value_weights is None else value_weights[kept]
        out = summed(where, each, total)
    return out.reshape((count,) if rows is None else (rows, count))


def sparse_counts(
    rows: int | None, row_of: Any, values: Any, weights: Any, minlength: int, maxlength: int, binary: bool
) -> Any:
    _not_negative(values)
    value_weights = _weights(weights, values)
    values = values.reshape(-1)
    kept = values < maxlength if maxlength >= 0 else np.ones(len(values), bool)
    row_of, values = row_of[kept], values[kept]
    largest = int(values.max(initial=0))
    width = maxlength if maxlength >= 0 else max(largest + 1, minlength)
    present, which = np.unique(row_of * (largest + 1) + values, return_inverse=True)
    if binary:
        counts = np.ones(len(present), weights.dtype)
    else:
        each = np.ones(len(which), weights.dtype) if value_weights is None else value_weights[kept]
        counts = summed(which, each, len(present))
    indices = np.stack([present // (largest + 1), present % (largest + 1)], 1)
    if rows is None:
        return indices[:, 1:], counts, np.array([width])
    return indices, counts, np.array([rows, width])
