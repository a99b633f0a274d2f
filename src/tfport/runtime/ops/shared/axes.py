"""Validation of shapes, axes, sizes, indices and scalars for host kernels.

`axis_in`, for kernels that move elements, and `axis_of`, for numeric ones, word the same error differently.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray


FEW = 8
"""Up to this many numbers are compared one by one: NumPy's calls take longer."""
IS_NOT_IN = "{what}[{at}] = {index} is not in [0, {size})"
"""TensorFlow's sentence about a bad index, in most ops."""


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
    array = np.empty(tuple(shape), dtype)
    array[...] = value
    return array


def check_indices(
    indices: NDArray[Any],
    size: int,
    what: str = "indices",
    sentence: str = IS_NOT_IN,
    *,
    may_be_negative: bool = False,
) -> None:
    """Raise TensorFlow's sentence if an index is not in [0, size), or only if it is too large."""
    if not indices.size:
        return
    if indices.size <= FEW:
        numbers = indices.reshape(-1).tolist()
        if max(numbers) < size and (may_be_negative or min(numbers) >= 0):
            return
    elif indices.max() < size and (may_be_negative or indices.min() >= 0):
        return
    bad = (indices >= size) | ((indices < 0) & (not may_be_negative))
    if bad.any():
        at = first_position(bad)
        raise RunFailed(sentence.format(what=what, at=text_of(at), index=indices[at], size=size))


def first_position(marked: NDArray[Any]) -> tuple[int, ...]:
    """The position of the first element that is true."""
    return tuple(int(n) for n in np.unravel_index(int(marked.argmax()), marked.shape))


def text_of(sizes: Iterable[int]) -> str:
    """Numbers as TensorFlow prints positions and shapes: `1,0`."""
    return ",".join(map(str, sizes))


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
