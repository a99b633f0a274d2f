"""Convert the bytes of one tensor in a data shard to an array and back.

Elements are stored as in memory, in the byte order of the machine that wrote
them. Strings are stored as their lengths, a checksum of the lengths, then their
bytes; the checksum of the tensor covers the lengths as fixed-size numbers.
`bundle` knows the offsets of the tensors.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.varint import from_varint, to_varint

if TYPE_CHECKING:
    from numpy.typing import NDArray

Order = Literal["little", "big"]


def to_array(raw: memoryview, kind: np.dtype[Any], shape: tuple[int, ...], order: Order) -> NDArray[Any]:
    """The elements as a read-only array: a view of `raw` if byte order and alignment allow it."""
    flat = np.frombuffer(raw, np.uint8)
    if order != sys.byteorder:
        # the two parts of a complex number are swapped separately
        word = kind.itemsize // 2 if kind.kind == "c" else kind.itemsize
        flat = np.ascontiguousarray(flat.reshape(-1, word)[:, ::-1]).reshape(-1)
    elif flat.ctypes.data % kind.alignment:
        flat = flat.copy()
    out = flat.view(kind).reshape(shape)
    out.flags.writeable = False
    return out


def to_bytes(array: NDArray[Any]) -> memoryview:
    """The bytes of an array; a contiguous array is not copied."""
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def to_strings(raw: memoryview, shape: tuple[int, ...], order: Order, what: str) -> tuple[NDArray[Any], int]:
    """The strings as an array of `bytes`, and their checksum. `what` is the start of error messages."""
    lengths, at = read_lengths(raw, prod(shape), what)
    crc = checksum_of_lengths(lengths, order)
    stored, computed = int.from_bytes(raw[at : at + 4], order), masked(crc)
    if stored != computed:
        raise UnreadableFile(
            f"{what}: expected string lengths with checksum {stored:08x}, found {computed:08x}"
        )
    at += 4
    if at + sum(lengths) != len(raw):
        raise UnreadableFile(
            f"{what}: expected {len(raw) - at} bytes of strings, found lengths of {sum(lengths)}"
        )
    crc = checksum(raw[at - 4 :], crc)
    out = np.empty(len(lengths), object)
    for i, length in enumerate(lengths):
        out[i] = bytes(raw[at : at + length])
        at += length
    out = out.reshape(shape)
    out.flags.writeable = False
    return out, crc


def read_lengths(raw: memoryview, count: int, what: str) -> tuple[list[int], int]:
    """The lengths of `count` strings, and where they end."""
    if count + 4 > len(raw):  # before memory is allocated
        raise UnreadableFile(f"{what}: expected {count} strings, found {len(raw)} bytes")
    lengths, at = [], 0
    try:
        for _ in range(count):
            length, at = from_varint(raw, at)
            lengths.append(length)
    except ValueError:
        raise UnreadableFile(f"{what}: expected {count} strings, found {len(lengths)} lengths") from None
    return lengths, at


def from_strings(array: NDArray[Any], name: str) -> tuple[bytes, int]:
    """The bytes that store strings, and their checksum."""
    strings = [to_string(s, name) for s in array.ravel().tolist()]
    lengths = [len(s) for s in strings]
    crc = checksum_of_lengths(lengths, sys.byteorder)
    tail = masked(crc).to_bytes(4, sys.byteorder) + b"".join(strings)
    return b"".join(map(to_varint, lengths)) + tail, checksum(tail, crc)


def to_string(value: object, name: str) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if not isinstance(value, bytes):
        raise Error(f"tensor {name}: expected bytes or str, found {type(value).__name__}")
    return value


def checksum_of_lengths(lengths: Iterable[int], order: Order) -> int:
    """The checksum of lengths as four bytes each, or eight if four are too few."""
    # eight bytes were added later, compatible with old checkpoints (ReadStringTensor)
    return checksum(b"".join(n.to_bytes(4 if n < 2**32 else 8, order) for n in lengths))
