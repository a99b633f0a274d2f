"""Distinct elements, and those of one list that another lacks."""

from __future__ import annotations

import math

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import axis_in
from tfport.runtime.ops.shared.precision import NARROW, wide_type

_FEW = 64
"""Up to this many integers are compared one by one, which is faster than sorting."""


@host("Unique")
def unique(x, *, out_idx):
    if x.ndim == 1 and x.dtype.kind in "iu" and x.size <= _FEW:
        seen: dict[int, int] = {}
        where = [seen.setdefault(number, len(seen)) for number in x.tolist()]
        return np.array(list(seen), x.dtype), np.array(where, out_idx.numpy)
    return _unique(x, np.array([], np.int64), out_idx)[:2]


@host("UniqueWithCounts")
def unique_with_counts(x, *, out_idx):
    return _unique(x, np.array([], np.int64), out_idx)


@host("UniqueV2")
def unique_v2(x, axis, *, out_idx):
    return _unique(x, axis, out_idx)[:2]


@host("UniqueWithCountsV2")
def unique_with_counts_v2(x, axis, *, out_idx):
    return _unique(x, axis, out_idx)


def _unique(x, axis, out_idx):
    """The distinct rows in order of appearance, the index of each row in them, and counts."""
    if axis.ndim != 1 or axis.size > 1:
        raise RunFailed(f"axis must be a vector of at most one element, found shape {list(axis.shape)}")
    if not axis.size and x.ndim != 1:
        raise RunFailed(f"without an axis, x must be a vector, found shape {list(x.shape)}")
    at = axis_in(axis[0], x.ndim) if axis.size else 0
    rows = np.moveaxis(x, at, 0)
    first, where, counts = _distinct(
        rows.reshape(len(rows), math.prod(rows.shape[1:])) if rows.ndim > 1 else rows
    )
    dtype = out_idx.numpy
    return np.take(x, first, at), where.astype(dtype), counts.astype(dtype)


def _distinct(rows):
    """The first index of each distinct row in order, the index of each row in them, and counts."""
    if not len(rows):
        empty = np.array([], np.int64)
        return empty, empty, empty
    keys = _comparable(rows)
    _, first, where, counts = np.unique(
        keys,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=0 if keys.ndim > 1 else None,
        **({} if keys.dtype == object else {"equal_nan": False}),
    )
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[where.reshape(-1)], counts[order]


def _comparable(rows):
    """Rows that NumPy can compare: rows of several strings become rows of integers."""
    if rows.dtype.name in NARROW:
        rows = rows.astype(np.float32)
    if rows.ndim > 1 and rows.shape[1] == 1:
        return rows[:, 0]
    if rows.ndim > 1 and rows.dtype == object:
        return np.unique(rows.reshape(-1), return_inverse=True)[1].reshape(rows.shape)
    if rows.ndim > 1 and rows.dtype.kind in "fc":
        # as one integer per distinct value, since rows are compared by their bytes; NaN equals nothing
        return np.unique(rows.reshape(-1), return_inverse=True, equal_nan=False)[1].reshape(rows.shape)
    return rows


@host("ListDiff")
def list_diff(x, y, *, out_idx):
    """The elements of x that are not in y, and their indices."""
    if x.ndim != 1 or y.ndim != 1:
        raise RunFailed(f"x and y must be vectors, found shapes {list(x.shape)} and {list(y.shape)}")
    if x.dtype == object:
        excluded = set(y.tolist())
        kept = np.array([element not in excluded for element in x.tolist()], bool)
    else:
        wide = wide_type(x.dtype)
        kept = ~np.isin(x.astype(wide), y.astype(wide))
    return x[kept], np.flatnonzero(kept).astype(out_idx.numpy)
