"""RaggedRange: several ranges of numbers as one ragged tensor."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import excerpt, within_rows

FEW = 8
"""Up to this many ranges are measured one by one: NumPy's calls take longer."""
SHORT = 64
"""Up to this many elements of several ranges are listed one by one."""
MOST_ELEMENTS = 1 << 33
_MODERATE = 1 << 62


@host("RaggedRange")
def ragged_range(starts, limits, deltas, *, Tsplits):
    bounds = (starts, limits, deltas)
    lengths = {len(vector) for vector in bounds if vector.ndim}
    if any(vector.ndim > 1 for vector in bounds) or len(lengths) > 1:
        shapes = [vector.shape for vector in bounds]
        raise RunFailed(f"starts, limits and deltas must be scalars or vectors of one length, found {shapes}")
    rows = lengths.pop() if lengths else 1
    most = MOST_ELEMENTS if Tsplits.numpy.itemsize == 8 else (1 << 31) - 1
    if starts.dtype.kind in "iu" and rows <= FEW:
        few = _few_ranges(bounds, rows, most)
        if few is not None:
            return few
    if (deltas == 0).any():
        raise RunFailed(f"deltas must not be 0, found {excerpt(deltas)}")
    counts = np.broadcast_to(_range_sizes(starts, limits, deltas), rows)
    splits = np.concatenate([[0], np.cumsum(counts)])
    if splits[-1] > most:
        raise RunFailed(f"the ranges have too many elements: {splits[-1]}")
    if len(counts) == 1 and starts.dtype.kind in "iu":
        return splits, starts + np.arange(splits[-1], dtype=starts.dtype) * deltas
    if starts.dtype.kind in "iu":
        steps = within_rows(counts).astype(starts.dtype) * _repeated(deltas, counts)
        return splits, _repeated(starts, counts) + steps
    start, delta = (np.broadcast_to(vector, len(counts)) for vector in (starts, deltas))
    parts = [_stepped(*row) for row in zip(start, delta, counts.tolist(), strict=True)]
    return splits, np.concatenate([*parts, np.empty(0, start.dtype)])


def _few_ranges(bounds: tuple[Any, ...], rows: int, most: int) -> tuple[Any, Any] | None:
    """The splits and values of a few ranges of integers; None if they have many elements, or an error."""
    columns = [vector.tolist() if vector.ndim else [vector.item()] * rows for vector in bounds]
    if 0 in columns[2]:
        return None
    counts = [max(0, -((start - limit) // delta)) for start, limit, delta in zip(*columns, strict=True)]
    count = sum(counts)
    if count > most:
        return None
    starts, _, deltas = bounds
    if rows == 1:
        values = starts + np.arange(count, dtype=starts.dtype) * deltas
    elif count <= SHORT:
        ranges = itertools.starmap(range, zip(*columns, strict=True))
        values = np.fromiter(itertools.chain.from_iterable(ranges), starts.dtype, count)
    else:
        return None
    return np.array([0, *itertools.accumulate(counts)]), values


def _repeated(bounds: Any, counts: Any) -> Any:
    """The element of each row for each of its values; a scalar is the same for all."""
    return np.repeat(bounds, counts) if bounds.ndim else bounds


def _range_sizes(start: Any, limit: Any, delta: Any) -> Any:
    """The numbers of elements; 0 where a range goes the other way."""
    if start.dtype.kind in "iu":
        dtype = np.int64 if _are_moderate(start, limit, delta) else object
        counts = -((start.astype(dtype) - limit) // delta.astype(dtype))
        return np.maximum(counts, 0).astype(np.int64)
    back = ((delta > 0) & (limit < start)) | ((delta < 0) & (limit > start))
    counts = np.ceil(np.abs((limit - start) / delta))
    if (~np.isfinite(counts) & ~back).any() or (counts > MOST_ELEMENTS).any():
        raise RunFailed("a range is infinite or too long")
    return np.where(back, 0, counts).astype(np.int64)


def _are_moderate(*vectors: Any) -> bool:
    """Whether differences of the elements have 64 bits."""
    return all(
        not v.size or v.itemsize < 8 or (v.min() > -_MODERATE and v.max() < _MODERATE) for v in vectors
    )


def _stepped(start: Any, delta: Any, count: int) -> Any:
    """Add delta to the previous element, rounding each time."""
    row = np.full(count, delta, start.dtype)
    row[:1] = start
    return np.add.accumulate(row)
