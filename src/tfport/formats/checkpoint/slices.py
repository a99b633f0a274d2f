"""Slices of tensors: their position, whether they cover a region, how to join them, and their keys.

A partitioned variable is stored as slices. A `Slice` has a start and a length for
each axis; the length `ALL` means the whole axis. `join` makes one array of the
slices in a region.
Each is stored under a key with the tensor's name and the start and length of each axis
(`EncodeTensorNameSlice` in TensorFlow's saved_tensor_slice_util.cc). The encoding, TensorFlow's
OrderedCode, makes the bytes of keys sort like the values they contain.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tfport.formats.proto import checkpoint_pb2 as pb


Slice = tuple[tuple[int, int], ...]
ALL = -1
MOST_CORNERS = 1 << 22


def from_proto(proto: pb.TensorSliceProto) -> Slice:
    """The slice in a message; a missing length means the whole axis."""
    return tuple((e.start, e.length if e.HasField("length") else ALL) for e in proto.extent)


def to_proto(part: Slice, proto: pb.TensorSliceProto) -> None:
    for start, length in part:
        extent = proto.extent.add(start=start)
        if length != ALL:
            extent.length = length


def whole(shape: Iterable[int]) -> Slice:
    return tuple((0, size) for size in shape)


def within(part: Slice, shape: tuple[int, ...]) -> Slice:
    """The slice with explicit lengths. ValueError if it is not within a tensor of this shape."""
    if len(part) != len(shape):
        raise ValueError(f"slice {text(part)} has {len(part)} axes, expected {len(shape)}")
    out = tuple(
        (0, size) if length == ALL else (start, length)
        for (start, length), size in zip(part, shape, strict=True)
    )
    for (start, length), size in zip(out, shape, strict=True):
        if start < 0 or length < 0 or start + length > size:
            raise ValueError(f"slice {text(part)} is not within shape {list(shape)}")
    return out


def text(part: Slice) -> str:
    """A slice as TensorFlow prints it: `0,4:-`."""
    return ":".join("-" if length == ALL else f"{start},{length}" for start, length in part)


def shape_of(part: Slice) -> tuple[int, ...]:
    return tuple(length for _, length in part)


def common(a: Slice, b: Slice) -> Slice | None:
    """The intersection of two slices, if there is one."""
    out = []
    for (start, length), (other, other_length) in zip(a, b, strict=True):
        begin, end = max(start, other), min(start + length, other + other_length)
        if begin >= end:
            return None
        out.append((begin, end - begin))
    return tuple(out)


def tiles(region: Slice, parts: Iterable[Slice]) -> bool:
    """Whether every element of a non-empty region is in exactly one of the parts.

    Each corner of a box has the sign + or -, depending on how many of its coordinates are
    ends. Where boxes meet the signs cancel, so that only the corners of their union are
    left, which must be those of the region. This needs no mask of elements.
    """
    boxes = [*parts]
    # an axis that no box splits would only double the corners
    axes = [a for a, extent in enumerate(region) if any(box[a] != extent for box in boxes)]
    if not boxes or (len(boxes) + 1) << len(axes) > MOST_CORNERS:
        return False
    corners: Counter[tuple[int, ...]] = Counter()
    for box, weight in [*((box, 1) for box in boxes), (region, -1)]:
        ends = [((start, 1), (start + length, -1)) for start, length in (box[a] for a in axes)]
        for corner in product(*ends):
            corners[tuple(at for at, _ in corner)] += weight * prod(sign for _, sign in corner)
    return not any(corners.values())


def select(part: Slice, origin: Slice) -> tuple[slice, ...]:
    """The NumPy index of a part in an array that begins where `origin` does."""
    return tuple(
        slice(start - zero, start - zero + length)
        for (start, length), (zero, _) in zip(part, origin, strict=True)
    )


def join(
    region: Slice, dtype: np.dtype[Any], parts: Mapping[Slice, Callable[[], NDArray[Any]]], limit: int
) -> NDArray[Any]:
    """The region as one read-only array; only the parts within it are read.

    ValueError if the parts do not cover the region exactly, or if it is larger than
    `limit` bytes, the most that can be stored in their files.
    """
    import numpy as np

    if region in parts:
        return parts[region]()
    shared = {part: both for part in parts if (both := common(part, region))}
    size = prod(shape_of(region))
    if size and not tiles(region, shared.values()):
        raise ValueError("slices with overlaps or gaps")
    if size * (1 if dtype.hasobject else dtype.itemsize) > limit:
        raise ValueError(f"{limit} bytes")
    out = np.empty(shape_of(region), dtype)
    for part, both in shared.items():
        out[select(both, region)] = parts[part]()[select(both, part)]
    out.flags.writeable = False
    return out


# The keys of slices.

END_OF_STRING = b"\0\1"
SPECIAL = re.compile(rb"[\x00\xff]")
SLICE_KEY = b"\0"
"""The first byte of the key of a slice; no key of a tensor begins with it."""


def encode_slice(name: str, part: Slice) -> bytes:
    """The key of one slice of a tensor."""
    numbers = b"".join(encode_signed(start) + encode_signed(length) for start, length in part)
    return SLICE_KEY + encode_string(name.encode()) + encode_number(len(part)) + numbers


def encode_string(text: bytes) -> bytes:
    """The bytes with 00 and ff escaped, then the end mark."""
    return SPECIAL.sub(lambda match: match[0] + bytes([0xFF - match[0][0]]), text) + END_OF_STRING


def encode_number(number: int) -> bytes:
    """The number of bytes, then the bytes, the most significant first."""
    digits = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def encode_signed(number: int) -> bytes:
    """The number of equal leading bits is the number of bytes; they are zeros if the number is negative."""
    size = max(number, ~number).bit_length() // 7 + 1
    return (number & ones(8 * size) ^ leading(size)).to_bytes(size, "big")


def ones(bits: int) -> int:
    return (1 << bits) - 1


def leading(size: int) -> int:
    """The leading bits that encode the size of a signed number: one for each of its bytes."""
    return ones(size) << 7 * size
