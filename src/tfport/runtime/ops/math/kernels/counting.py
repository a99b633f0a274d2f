"""Bucketize, histograms, bin counts and isotonic regression."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.axes import scalar_of


@host("Bucketize")
def bucketize(input, *, boundaries):
    edges = np.array(boundaries, np.float32)
    if np.any(np.diff(edges) < 0):
        raise RunFailed(f"boundaries must be sorted, found {list(boundaries)}")
    # NaN is in the last bucket: NumPy sorts it after all numbers
    exact = input if input.dtype == np.float64 else input.astype(np.float32)
    return np.searchsorted(edges.astype(exact.dtype), exact, side="right")


@host("HistogramFixedWidth")
def histogram_fixed_width(values, value_range, nbins, *, dtype):
    bins = scalar_of(nbins, "nbins")
    if bins <= 0:
        raise RunFailed(f"nbins must be positive, found {bins}")
    if value_range.shape != (2,) or not value_range[0] < value_range[1]:
        raise RunFailed(f"value_range must be two increasing numbers, found {value_range.tolist()}")
    if np.any(np.isnan(values)):
        raise RunFailed("values must not be NaN")
    low, high = value_range.astype(np.float64)
    step = (high - low) / bins
    buckets = np.clip(np.floor((values.reshape(-1).astype(np.float64) - low) / step), 0, bins - 1)
    return np.bincount(buckets.astype(np.int64), minlength=bins)


@host("Bincount")
def bincount(arr, size, weights):
    bins = scalar_of(size, "size")
    _check(arr, bins)
    if weights.size and weights.size != arr.size:
        raise RunFailed(
            "weights must be empty or have as many elements as the input, "
            f"found {weights.size}, expected {arr.size}"
        )
    if not weights.size:
        numbers = arr.reshape(-1)
        return np.bincount(numbers[numbers < bins], minlength=bins).astype(weights.dtype)
    return _counted(arr.reshape(1, -1), bins, weights, False)[0]


@host("DenseBincount")
def dense_bincount(input, size, weights, *, binary_output):
    if input.ndim > 2:
        raise RunFailed(f"the input must be a vector or matrix, found rank {input.ndim}")
    bins = scalar_of(size.reshape(()) if size.size == 1 else size, "size")
    _check(input, bins)
    if weights.size and weights.shape != input.shape:
        raise RunFailed(
            "weights must be empty or have the shape of the input, "
            f"found {list(weights.shape)}, expected {list(input.shape)}"
        )
    rows = input if input.ndim == 2 else input.reshape(1, -1)
    counted = _counted(rows, bins, weights, binary_output)
    return counted if input.ndim == 2 else counted[0]


def _check(arr: Any, bins: int) -> None:
    if bins < 0:
        raise RunFailed(f"size must not be negative, found {bins}")
    if arr.size and arr.min() < 0:
        raise RunFailed(f"the input must not be negative, found {arr.min()}")


def _counted(rows: Any, bins: int, weights: Any, binary: bool) -> Any:
    """Count each number per row; numbers without a bin are ignored."""
    counts = np.zeros((len(rows), bins), weights.dtype)
    there = rows < bins
    where = np.nonzero(there)
    if binary:
        counts[where[0], rows[there]] = 1
    else:
        np.add.at(counts, (where[0], rows[there]), weights.reshape(rows.shape)[there] if weights.size else 1)
    return counts


@host("IsotonicRegression")
def isotonic_regression(input, *, output_dtype):
    """The nearest non-increasing row, and the segment of each element."""
    if input.ndim != 2:
        raise RunFailed(f"the input must be a matrix, found rank {input.ndim}")
    values, segments = np.empty(input.shape, np.float64), np.empty(input.shape, np.int32)
    for i, row in enumerate(input.astype(np.float64).tolist()):
        sums, counts = _pooled(row)
        values[i] = np.repeat(np.divide(sums, counts), counts)
        segments[i] = np.repeat(np.arange(len(counts)), counts)
    return values, segments


def _pooled(row: list[float]) -> tuple[list[float], list[int]]:
    """Pool increasing neighbors to their mean until there are none."""
    sums: list[float] = []
    counts: list[int] = []
    for value in row:
        sums.append(value)
        counts.append(1)
        while len(sums) > 1 and sums[-2] / counts[-2] < sums[-1] / counts[-1]:
            value, count = sums.pop(), counts.pop()
            sums[-1] += value
            counts[-1] += count
    return sums, counts
