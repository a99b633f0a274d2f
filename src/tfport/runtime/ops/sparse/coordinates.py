"""Indices of sparse tensors: bounds, order, and flat positions in the dense tensor."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.shared.precision import widen

MOST_PLACES = 1 << 62
FEW = 8
"""Up to this many indices are compared one by one."""


def checked(indices: Any, values: Any, shape: Any, what: str = "the sparse tensor") -> tuple[int, ...]:
    """The dense shape of a sparse tensor, after validating its parts."""
    if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
        raise RunFailed(
            f"{what} must have a matrix of indices and vectors of values and shape, "
            f"found {list(indices.shape)}, {list(values.shape)} and {list(shape.shape)}"
        )
    if len(indices) != len(values) or indices.shape[1] != len(shape):
        raise RunFailed(
            f"{what}: indices {list(indices.shape)} do not match {len(values)} values of rank {len(shape)}"
        )
    return sizes(shape, what)


def sizes(shape: Any, what: str = "the sparse tensor") -> tuple[int, ...]:
    dims: tuple[int, ...] = tuple(shape.tolist())
    if min(dims, default=0) < 0 or math.prod(dims) > MOST_PLACES:
        raise RunFailed(f"{what} has an invalid shape {list(dims)}")
    return dims


def in_bounds(indices: Any, dims: tuple[int, ...], what: str = "the sparse tensor") -> None:
    """Raise if an index is out of bounds."""
    for at, index in outside(indices, dims):
        raise RunFailed(f"index {at} of {what}, {index}, is out of bounds for shape {list(dims)}")


def outside(indices: Any, dims: tuple[int, ...]) -> Iterator[tuple[int, list[int]]]:
    """The indices that are out of bounds, with their positions."""
    if len(indices) <= FEW and _are_inside(indices.tolist(), dims):
        return
    # unsigned, so that negative numbers are too large
    if not (indices.astype(np.int64, copy=False).view(np.uint64) < np.array(dims, np.uint64)).all():
        for at in np.flatnonzero(((indices < 0) | (indices >= np.array(dims, np.int64))).any(1)):
            yield int(at), indices[at].tolist()


def _are_inside(rows: list[list[int]], dims: tuple[int, ...]) -> bool:
    """Whether a few indices are in bounds: for them NumPy's calls take longer than the comparisons."""
    return all(0 <= n < size for row in rows for n, size in zip(row, dims, strict=True))


def few_positions(indices: Any, dims: tuple[int, ...]) -> list[int] | None:
    """The flat positions of a few indices as numbers; None if there are more, or one is out of bounds."""
    if len(indices) > FEW:
        return None
    flat = []
    for row in indices.tolist():
        position = 0
        for at, size in zip(row, dims, strict=True):
            if not 0 <= at < size:
                return None
            position = position * size + at
        flat.append(position)
    return flat


def flat_positions(indices: Any, dims: tuple[int, ...]) -> Any:
    """The flat position of each index in the dense tensor."""
    if len(dims) == 2:
        wide = indices.astype(np.int64, copy=False)
        return wide[:, 0] * dims[1] + wide[:, 1]
    steps = np.array([math.prod(dims[i + 1 :]) for i in range(len(dims))], np.int64)
    return indices.astype(np.int64, copy=False) @ steps


def indices_of(flat: Any, dims: tuple[int, ...]) -> Any:
    """The indices of flat positions, one row each."""
    if isinstance(flat, list):
        return np.array([_index_of(number, dims) for number in flat], np.int64).reshape(len(flat), len(dims))
    out = np.empty((len(flat), len(dims)), np.int64)
    rest = flat
    for axis in range(len(dims) - 1, -1, -1):
        rest, out[:, axis] = np.divmod(rest, max(dims[axis], 1))
    return out


def _index_of(position: int, dims: tuple[int, ...]) -> list[int]:
    index = []
    for size in dims[::-1]:
        position, at = divmod(position, max(size, 1))
        index.append(at)
    return index[::-1]


def in_order(flat: Any) -> bool:
    """Whether positions strictly increase."""
    if isinstance(flat, list):
        return all(map(operator.lt, flat, flat[1:]))
    return len(flat) < 2 or bool((flat[1:] > flat[:-1]).all())


def sorted_order(indices: Any) -> Any:
    """The permutation that sorts indices, first axis first."""
    return np.lexsort(indices.T[::-1]) if indices.shape[1] else np.arange(len(indices))


def summed(groups: Any, values: Any, count: int) -> Any:
    """The sum of the values of each group."""
    dtype = values.dtype
    values = widen(values)
    if values.dtype.kind == "f":
        return np.bincount(groups, values.astype(np.float64), count).astype(dtype)
    out = np.zeros(count, values.dtype)
    np.add.at(out, groups, values)
    return out.astype(dtype)
