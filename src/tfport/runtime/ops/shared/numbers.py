"""Validation of shapes, axes and scalars for numeric host kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed


def same_shapes(*arrays: Any) -> None:
    """Raise if the shapes differ, for the few ops that do not broadcast."""
    if any(array.shape != arrays[0].shape for array in arrays):
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        raise RunFailed(f"inputs must have the same shape, found {shapes}")


def axis_of(axis: Any, rank: int) -> int:
    """One axis, counted from the front."""
    if axis.ndim:
        raise RunFailed(f"axis must be a scalar, found shape {list(axis.shape)}")
    if not -rank <= int(axis) < rank:
        raise RunFailed(f"axis {int(axis)} is out of range for rank {rank}")
    return int(axis) % rank


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes of a reduction, counted from the front."""
    numbers: list[int] = []
    for axis in axes.reshape(-1).tolist():
        if not -rank <= axis < rank:
            raise RunFailed(f"axis {axis} is out of range for rank {rank}")
        if axis % rank in numbers:
            raise RunFailed(f"axis {axis % rank} is repeated")
        numbers.append(axis % rank)
    return tuple(numbers)


def scalar_of(x: Any, what: str) -> int:
    """The value of an input that must be a scalar integer."""
    if x.ndim:
        raise RunFailed(f"{what} must be a scalar, found shape {list(x.shape)}")
    return int(x)


def is_integer(x: Any) -> bool:
    return np.dtype(x.dtype).kind in "iu"


def product(sizes: Sequence[int]) -> int:
    return int(np.prod(sizes, dtype=np.int64))
