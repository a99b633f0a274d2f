"""What the kernels of strings share: arrays of bytes made, mapped and asked for their one element."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def string_array(values: Sequence[bytes], shape: Sequence[int] | None = None) -> NDArray[Any]:
    """An array of bytes, a vector unless a shape is given."""
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(tuple(shape))


def map_strings(array: NDArray[Any], change: Callable[[bytes], bytes]) -> NDArray[Any]:
    """The array with every string changed."""
    return string_array([change(text) for text in array.reshape(-1).tolist()], array.shape)


def scalar_value(array: NDArray[Any], what: str) -> Any:
    """The element of a scalar."""
    if array.ndim:
        raise RunFailed(f"{what} must be a scalar, not of shape {list(array.shape)}")
    return array[()]


def attr_bytes(attribute: str | bytes) -> bytes:
    """A string attribute as the bytes that it was."""
    return attribute if isinstance(attribute, bytes) else attribute.encode()


def printable(text: bytes) -> str:
    """A string for a message."""
    return text[:100].decode(errors="backslashreplace")


def checked_splits(splits: Iterable[int], size: int) -> list[int]:
    """Row splits that start at 0, never fall and end at a size."""
    found = list(splits)
    if found[0] != 0:
        raise RunFailed(f"the first split must be 0, not {found[0]}")
    if any(a > b for a, b in itertools.pairwise(found)):
        raise RunFailed("the splits must not fall")
    if found[-1] != size:
        raise RunFailed(f"the last split must be {size}, the number of values, not {found[-1]}")
    return found
