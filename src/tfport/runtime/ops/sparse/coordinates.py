"""Indices of sparse tensors: bounds, order, and flat positions in the dense tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.shared.precision import widen

MOST_PLACES = 1 << 62


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
    dims = tuple(int(n) for n in shape.tolist())
    if min(dims, default=0) < 0 or math.prod(dims) > MOST_PLACES:
        raise RunFailed(f"{what} has an invalid shape {list(dims)}")
    return dims


def in_bounds(indices: Any, dims: tuple[int, ...], what: str = "the sparse tensor") -> None:
    """Raise if an index is out of bounds."""
    for at, index in outside(indices, dims):
        raise RunFailed(f"index {at} of {what}, {index}, is out of bounds for shape {list(dims)}")


def outside(indices: Any, dims: tuple[int, ...]) -> Iterator[tuple[int, list[int]]]:
    """The indices that are out of bounds, with their positions."""
    if len(indices):
        for at in np.flatnonzero(((indices < 0) | (indices >= np.array(dims, np.int64))).any(1)):
            yield int(at), indices[at].tolist()


def places(indices: Any, dims: tuple[int, ...]) -> Any:
    """The flat position of each index in the dense tensor."""
    steps = np.array([math.prod(dims[i + 1 :]) for i in range(len(dims))], np.int64)
    return indices.astype(np.int64, copy=False) @ steps


def indices_of(flat: Any, dims: tuple[int, ...]) -> Any:
    """The indices of flat positions, one row each."""
    out = np.empty((len(flat), len(dims)), np.int64)
    rest = flat
    for axis in range(len(dims) - 1, -1, -1):
        size = max(dims[axis], 1)
        out[:, axis] = rest % size
        rest = rest // size
    return out


def in_order(flat: Any) -> bool:
    """Whether positions strictly increase."""
    return bool((flat[1:] > flat[:-1]).all())


def sorted_order(indices: Any) -> Any:
    """The permutation that sorts indices, first axis first."""
    return np.lexsort(indices.T[::-1]) if indices.shape[1] else np.arange(len(indices))


def summed(groups: Any, values: Any, count: int) -> Any:
    """The sum of the values of each group."""
    kind = values.dtype
    values = widen(values)
    if values.dtype.kind == "f":
        return np.bincount(groups, values.astype(np.float64), count).astype(kind)
    out = np.zeros(count, values.dtype)
    np.add.at(out, groups, values)
    return out.astype(kind)
