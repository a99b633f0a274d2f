"""Validation of axes, sizes and indices for host kernels that move elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 8
"""Up to this many numbers are compared one by one: NumPy's calls take longer."""


def axis_in(axis: Any, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; negative ones count from the back."""
    number = axis if type(axis) is int else axis.item()
    if not -rank <= number < rank:
        raise RunFailed(f"{what} {number} is not in [{-rank}, {rank})")
    return number % rank


def sizes_of(shape: NDArray[Any]) -> tuple[int, ...]:
    """The sizes in a shape vector; old graphs use a scalar for a vector of one."""
    vector = np.asarray(shape)
    if vector.ndim > 1:
        raise RunFailed(f"a shape must be a vector, found shape {list(vector.shape)}")
    sizes: tuple[int, ...] = tuple(vector.reshape(-1).tolist())
    if min(sizes, default=0) < 0:
        raise RunFailed(f"sizes must not be negative, found shape {list(sizes)}")
    return sizes


def zero_of(dtype: np.dtype[Any]) -> Any:
    """The default element of a type."""
    return b"" if dtype.kind == "O" else np.zeros((), dtype)[()]


def full(shape: Iterable[int], value: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    made = np.empty(tuple(shape), dtype)
    made[...] = value
    return made


IS_NOT_IN = "{what}[{at}] = {index} is not in [0, {size})"
"""TensorFlow's sentence about a bad index, in most ops."""


def check_places(
    places: NDArray[Any],
    size: int,
    what: str = "indices",
    sentence: str = IS_NOT_IN,
    *,
    may_be_negative: bool = False,
) -> None:
    """Raise TensorFlow's sentence if an index is not in [0, size), or only if it is too large."""
    if not places.size:
        return
    if places.size <= FEW:
        numbers = places.reshape(-1).tolist()
        if max(numbers) < size and (may_be_negative or min(numbers) >= 0):
            return
    elif places.max() < size and (may_be_negative or places.min() >= 0):
        return
    bad = (places >= size) | ((places < 0) & (not may_be_negative))
    if bad.any():
        at = first_place(bad)
        raise RunFailed(sentence.format(what=what, at=text_of(at), index=places[at], size=size))


def first_place(marked: NDArray[Any]) -> tuple[int, ...]:
    """The position of the first element that is true."""
    return tuple(int(n) for n in np.unravel_index(int(marked.argmax()), marked.shape))


def text_of(sizes: Iterable[int]) -> str:
    """Numbers as TensorFlow prints positions and shapes: `1,0`."""
    return ",".join(map(str, sizes))
