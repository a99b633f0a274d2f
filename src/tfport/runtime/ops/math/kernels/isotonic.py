"""Isotonic regression."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host


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
