"""What is there once, what is largest, where it would stand: unique, top-k, n-th, bounds."""

from __future__ import annotations

import math

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, shapes
from tfport.runtime.ops.shared.axes import axis_in

_FEW = 64
"""So many integers at most are compared one by one: sorting them would take longer."""


@host("Unique")
def unique(x, *, out_idx):
    if x.ndim == 1 and x.dtype.kind in "iu" and x.size <= _FEW:
        seen: dict[int, int] = {}
        where = [seen.setdefault(one, len(seen)) for one in x.tolist()]
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


@shapes("Unique")
def unique_shape(inputs, attrs):
    return [(None,), inputs[0].shape]


def _unique(x, axis, out_idx):
    """What is different, in the order in which it first comes, where each went, and how often."""
    if axis.ndim != 1 or axis.size > 1:
        raise RunFailed("axis must be a vector of at most one element")
    if not axis.size and x.ndim != 1:
        raise RunFailed("without an axis it takes a vector")
    at = axis_in(axis[0], x.ndim) if axis.size else 0
    rows = np.moveaxis(x, at, 0)
    first, where, counts = _different(
        rows.reshape(len(rows), math.prod(rows.shape[1:])) if rows.ndim > 1 else rows
    )
    kind = out_idx.numpy
    return np.take(x, first, at), where.astype(kind), counts.astype(kind)


def _different(rows):
    """The first place of each row that is different, in order, where each row went, and how often."""
    if not len(rows):
        nothing = np.array([], np.int64)
        return nothing, nothing, nothing
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
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[where.reshape(-1)], counts[order]


def _comparable(rows):
    """Rows as NumPy compares them: of strings, several to a row, their numbers instead."""
    if rows.dtype.name in ("float16", "bfloat16"):
        rows = rows.astype(np.float32)
    if rows.ndim > 1 and rows.shape[1] == 1:
        return rows[:, 0]
    if rows.ndim > 1 and rows.dtype == object:
        return np.unique(rows.reshape(-1), return_inverse=True)[1].reshape(rows.shape)
    if rows.ndim > 1 and rows.dtype.kind in "fc":
        # as one number for each different value, since rows are compared by their bytes; a NaN is like none
        return np.unique(rows.reshape(-1), return_inverse=True, equal_nan=False)[1].reshape(rows.shape)
    return rows


@host("ListDiff")
def list_diff(x, y, *, out_idx):
    """What of x is not in y, and where it was."""
    if x.ndim != 1 or y.ndim != 1:
        raise RunFailed("x and y must be vectors")
    if x.dtype == object:
        there = set(y.tolist())
        kept = np.array([one not in there for one in x.tolist()], bool)
    else:
        wide = np.float32 if x.dtype.name in ("float16", "bfloat16") else x.dtype
        kept = ~np.isin(x.astype(wide), y.astype(wide))
    return x[kept], np.flatnonzero(kept).astype(out_idx.numpy)


@shapes("ListDiff")
def list_diff_shapes(inputs, attrs):
    return [(None,), (None,)]


@host("TopK")
def top_k(input, *, k, sorted):
    return _top(input, k)


@host("TopKV2")
def top_k_v2(input, k, *, sorted, index_type):
    if k.ndim:
        raise RunFailed("k must be a scalar")
    return _top(input, int(k))


def _top(x, k):
    """Always sorted, since no order is promised where `sorted` is false; of equals, the first come first."""
    if k < 0 or not x.ndim or x.shape[-1] < k:
        raise RunFailed(f"of shape {list(x.shape)} the {k} largest of the last axis are asked for")
    keys = x.astype(np.float32) if x.dtype.name in ("float16", "bfloat16") else x
    if keys.dtype.kind == "u":
        order = np.argsort(np.iinfo(keys.dtype).max - keys, axis=-1, kind="stable")
    elif keys.dtype.kind == "i":
        order = np.argsort(~keys, axis=-1, kind="stable")
    else:
        order = np.argsort(-keys, axis=-1, kind="stable")
    places = order[..., :k]
    return np.take_along_axis(x, places, -1), places


@host("NthElement")
def nth_element(input, n, *, reverse):
    at = int(n.reshape(()))
    if not input.ndim or not 0 <= at < input.shape[-1]:
        raise RunFailed(f"there is no element {at} in the last axis of shape {list(input.shape)}")
    place = input.shape[-1] - 1 - at if reverse else at
    keys = input.astype(np.float32) if input.dtype.name in ("float16", "bfloat16") else input
    return np.partition(keys, place, -1)[..., place].astype(input.dtype)


@host("LowerBound")
def lower_bound(sorted_inputs, values, *, out_type):
    return _bounds(sorted_inputs, values, "left")


@host("UpperBound")
def upper_bound(sorted_inputs, values, *, out_type):
    return _bounds(sorted_inputs, values, "right")


def _bounds(rows, values, side):
    if rows.ndim != 2 or values.ndim != 2 or len(rows) != len(values):
        raise RunFailed("sorted_inputs and values must be matrices with as many rows")
    made = np.empty(values.shape, np.int64)
    for i, (row, wanted) in enumerate(zip(rows, values, strict=True)):
        made[i] = np.searchsorted(row, wanted, side)
    if side == "left" and values.dtype.kind == "f":
        made[np.isnan(values)] = 0  # nothing is less than it
    return made
