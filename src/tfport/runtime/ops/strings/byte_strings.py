"""Helpers of the string kernels: scalars, attributes, changes of bytes, equality."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.shared.arrays import string_array
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

MANY = 64
"""From more strings than this on, `differ` is faster than comparing all of them."""
_UNCHANGED = bytes(range(256))


def map_strings(array: NDArray[Any], change: Callable[[bytes], bytes]) -> NDArray[Any]:
    """The array with `change` applied to each string."""
    return string_array([change(text) for text in array.reshape(-1).tolist()], array.shape)


def map_texts(array: NDArray[Any], change: Callable[[bytes], bytes]) -> NDArray[Any]:
    """The same, faster, for a change to which zero bytes are nothing special: of all strings together."""
    texts = array.reshape(-1).tolist()
    together = b"\0".join(texts)
    if together.count(0) != len(texts) - 1:
        return map_strings(array, change)
    return string_array(change(together).split(b"\0"), array.shape)


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


@dataclass(frozen=True, slots=True)
class ByteChange:
    """A change of strings byte by byte: what each byte becomes, and the bytes that are removed."""

    becomes: bytes
    removed: bytes = b""

    def __call__(self, text: bytes) -> bytes:
        return text.translate(self.becomes, self.removed)

    def then(self, other: ByteChange) -> ByteChange:
        """Both changes, one after the other, as one."""
        removed = bytes(
            byte
            for byte, becomes in enumerate(self.becomes)
            if byte in self.removed or becomes in other.removed
        )
        return ByteChange(self.becomes.translate(other.becomes), removed)


LOWER, UPPER = ByteChange(_UNCHANGED.lower()), ByteChange(_UNCHANGED.upper())
"""ASCII letters in the other case."""


def replaced_bytes(old: bytes, new: bytes) -> ByteChange:
    """Each byte of `old` becomes `new`, which is at most one byte."""
    if not new:
        return ByteChange(_UNCHANGED, old)
    return ByteChange(_UNCHANGED.translate(bytes.maketrans(old, new * len(old))))


def differ(strings: NDArray[Any], other: bytes) -> NDArray[np.bool_]:
    """Whether each string differs from another one.

    Padding is one object many times, so addresses are compared first; only strings at other addresses are
    compared byte by byte.
    """
    flat = np.ascontiguousarray(strings).reshape(-1)
    marked: NDArray[np.bool_] = np.frombuffer(flat, np.intp) != id(other)
    elsewhere = np.flatnonzero(marked)
    marked[elsewhere] = flat[elsewhere] != other
    return marked.reshape(strings.shape)
