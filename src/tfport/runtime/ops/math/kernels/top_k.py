"""TopK, InTopK, NthElement, and search in sorted rows."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.shared.precision import widen

FEW = 16
"""Up to this many values are searched for one by one."""


@host("TopK")
def top_k(input, *, k, sorted):
    return _top(input, k)


@host("TopKV2")
def top_k_v2(input, k, *, sorted, index_type):
    if k.ndim:
        raise RunFailed(f"k must be a scalar, found shape {list(k.shape)}")
    return _top(input, int(k))


@host("ApproxTopK")
def approx_top_k(
    input,
    *,
    k,
    reduction_dimension,
    recall_target,
    is_max_k,
    reduction_input_size_override,
    aggregate_to_topk,
):
    """The exact result, as TensorFlow gives it on a CPU."""
    x = np.moveaxis(input, reduction_dimension, -1)
    values, indices = _top(x if is_max_k else -x, k)
    values = values if is_max_k else -values
    return np.moveaxis(values, -1, reduction_dimension), np.moveaxis(indices, -1, reduction_dimension)


def _top(x, k):
    """Always sorted, as no order is promised otherwise; the first of equal elements comes first."""
    if k < 0 or not x.ndim or x.shape[-1] < k:
        raise RunFailed(f"k={k} exceeds the size of the last axis, shape {list(x.shape)}")
    keys = widen(x)
    if keys.dtype.kind == "u":
        order = np.argsort(np.iinfo(keys.dtype).max - keys, axis=-1, kind="stable")
    elif keys.dtype.kind == "i":
        order = np.argsort(~keys, axis=-1, kind="stable")
    else:
        order = np.argsort(-keys, axis=-1, kind="stable")
    indices = order[..., :k]
    return np.take_along_axis(x, indices, -1), indices


@host("NthElement")
def nth_element(input, n, *, reverse):
    at = int(n.reshape(()))
    if not input.ndim or not 0 <= at < input.shape[-1]:
        raise RunFailed(f"n={at} is out of range for the last axis, shape {list(input.shape)}")
    index = input.shape[-1] - 1 - at if reverse else at
    keys = widen(input)
    return np.partition(keys, index, -1)[..., index].astype(input.dtype)


@host("LowerBound")
def lower_bound(sorted_inputs, values, *, out_type):
    return _bounds(sorted_inputs, values, "left")


@host("UpperBound")
def upper_bound(sorted_inputs, values, *, out_type):
    return _bounds(sorted_inputs, values, "right")


@quick(upper_bound)
def few_upper_bounds(groups, attrs):
    """A few values in one sorted row, which is prepared once: NumPy's calls take longer than the search."""
    row, dtype = groups[0].array, attrs["out_type"].numpy
    if row is None or row.ndim != 2 or len(row) != 1 or row.dtype.kind not in "fiu" or np.isnan(row).any():
        return None
    (limits,) = row.tolist()

    def bounds(_, values):
        if values.ndim != 2 or len(values) != 1 or values.size > FEW:
            return None
        return np.array([[bisect_right(limits, value) for value in values[0].tolist()]], dtype)

    return bounds


def _bounds(rows, values, side):
    if rows.ndim != 2 or values.ndim != 2 or len(rows) != len(values):
        raise RunFailed(
            "sorted_inputs and values must be matrices with the same number of rows, "
            f"found shapes {list(rows.shape)} and {list(values.shape)}"
        )
    bounds = np.empty(values.shape, np.int64)
    for i, (row, wanted) in enumerate(zip(rows, values, strict=True)):
        bounds[i] = np.searchsorted(row, wanted, side)
    if side == "left" and values.dtype.kind == "f":
        bounds[np.isnan(values)] = 0  # no value is less than NaN
    return bounds


@host("InTopK")
def in_top_k(predictions, targets, *, k):
    return _in_top_k(predictions, targets, k)


@host("InTopKV2")
def in_top_k_v2(predictions, targets, k):
    return _in_top_k(predictions, targets, int(k))


def _in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """Whether fewer than k predictions are larger; never if a prediction in the row is not finite."""
    if predictions.ndim != 2 or targets.ndim != 1 or len(targets) != len(predictions):
        raise RunFailed(f"targets {list(targets.shape)} do not match predictions {list(predictions.shape)}")
    classes = predictions.shape[1]
    inside = (targets >= 0) & (targets < classes)
    if not classes:
        return np.zeros(len(targets), bool)
    own = np.take_along_axis(predictions, np.where(inside, targets, 0)[:, None], 1)
    finite = np.isfinite(predictions).all(1)
    return inside & finite & ((predictions > own).sum(1) < k)
