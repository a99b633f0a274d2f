"""Helpers of the string kernels: object arrays of bytes, scalars, attributes, row splits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed

if TYPE_CHECKING:
    from numpy.typing import NDArray


def string_array(values: Sequence[bytes], shape: Sequence[int] | None = None) -> NDArray[Any]:
    """An object array of bytes, by default a vector."""
    array = np.empty(len(values), object)
    array[:] = values
    return array if shape is None else array.reshape(tuple(shape))


def map_strings(array: NDArray[Any], change: Callable[[bytes], bytes]) -> NDArray[Any]:
    """The array with `change` applied to each string."""
    return string_array([change(text) for text in array.reshape(-1).tolist()], array.shape)


def scalar_value(array: NDArray[Any], what: str) -> Any:
    """The element of a scalar array; `what` names the input in the error message."""
    if array.ndim:
        raise RunFailed(f"{what} must be a scalar, found shape {list(array.shape)}")
    return array[()]


def attr_bytes(attribute: str | bytes) -> bytes:
    """A string attribute as bytes."""
    return attribute if isinstance(attribute, bytes) else attribute.encode()


def printable(text: bytes) -> str:
    """The start of a string, escaped for an error message."""
    return text[:100].decode(errors="backslashreplace")
