"""What kernels that move elements ask of axes, sizes and places."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfport.errors import RunFailed


def axis_in(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; negative ones count from the back."""
    found = int(np.asarray(axis).reshape(()))
    if not -rank <= found < rank:
        raise RunFailed(f"{what} {found} is not in [{-rank}, {rank})")
    return found % rank


def sizes_of(shape: NDArray[Any]) -> tuple[int, ...]:
    """The sizes in a vector; a scalar is a vector of one, as in old graphs."""
    sizes = tuple(int(n) for n in np.asarray(shape).reshape(-1))
    if np.ndim(shape) > 1:
        raise RunFailed(f"a shape is a vector; this has shape {np.shape(shape)}")
    if any(n < 0 for n in sizes):
        raise RunFailed(f"a size is negative in the shape {list(sizes)}")
    return sizes


def zero_of(dtype: np.dtype[Any]) -> Any:
    """What a tensor of this type is filled with."""
    return b"" if dtype.kind == "O" else np.zeros((), dtype)[()]


def full(shape: Iterable[int], value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    made = np.empty(tuple(shape), dtype)
    made[...] = value
    return made


def check_places(places: NDArray[Any], size: int, what: str = "indices") -> None:
    """Refuse places that are not in [0, size)."""
    if not places.size:
        return
    bad = (places < 0) | (places >= size)
    if bad.any():
        first = places[bad].flat[0]
        raise RunFailed(f"{what} has {first}, which is not in [0, {size})")
