"""What many numeric kernels ask: a type to compute in, whether shapes agree, which axes are meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.errors import RunFailed


def same_shapes(*arrays: Any) -> None:
    """Refuse what does not have one shape: few ops broadcast nothing."""
    if any(array.shape != arrays[0].shape for array in arrays):
        said = ", ".join(str(list(array.shape)) for array in arrays)
        raise RunFailed(f"its inputs must have the same shape, not {said}")


def axis_of(axis: Any, rank: int) -> int:
    """One axis, counted from the front."""
    if axis.ndim:
        raise RunFailed(f"the axis must be a scalar, not of shape {list(axis.shape)}")
    if not -rank <= int(axis) < rank:
        raise RunFailed(f"axis {int(axis)} is outside of rank {rank}")
    return int(axis) % rank


def axes_of(axes: Any, rank: int) -> tuple[int, ...]:
    """The axes that a reduction names, counted from the front."""
    found: list[int] = []
    for axis in axes.reshape(-1).tolist():
        if not -rank <= axis < rank:
            raise RunFailed(f"axis {axis} is outside of rank {rank}")
        if axis % rank in found:
            raise RunFailed(f"axis {axis % rank} is named twice")
        found.append(axis % rank)
    return tuple(found)


def scalar_of(x: Any, what: str) -> int:
    """The one integer that an input must be."""
    if x.ndim:
        raise RunFailed(f"{what} must be a scalar, not of shape {list(x.shape)}")
    return int(x)


def is_integer(x: Any) -> bool:
    return np.dtype(x.dtype).kind in "iu"


def product(sizes: Sequence[int]) -> int:
    return int(np.prod(sizes, dtype=np.int64))
