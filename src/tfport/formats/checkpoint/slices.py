"""Parts of tensors: where they lie, whether they make up a whole, and putting them together.

A partitioned variable is stored as slices. A `Slice` says for each axis where
it begins and how long it is, with a length of `ALL` for everything there is.
`join` makes one array of the slices that lie in a region.
"""

from __future__ import annotations

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
    """A slice as it is written; a length that is left out means all."""
    return tuple((e.start, e.length if e.HasField("length") else ALL) for e in proto.extent)


def to_proto(part: Slice, proto: pb.TensorSliceProto) -> None:
    for start, length in part:
        extent = proto.extent.add(start=start)
        if length != ALL:
            extent.length = length


def whole(shape: Iterable[int]) -> Slice:
    return tuple((0, size) for size in shape)


def within(part: Slice, shape: tuple[int, ...]) -> Slice:
    """The slice with its lengths spelt out. ValueError if it does not lie in a tensor of this shape."""
    if len(part) != len(shape):
        raise ValueError(f"slice {text(part)} has {len(part)} axes, not {len(shape)}")
    out = tuple(
        (0, size) if length == ALL else (start, length)
        for (start, length), size in zip(part, shape, strict=True)
    )
    for (start, length), size in zip(out, shape, strict=True):
        if start < 0 or length < 0 or start + length > size:
            raise ValueError(f"slice {text(part)} is not in shape {list(shape)}")
    return out


def text(part: Slice) -> str:
    """A slice as TensorFlow prints it: `0,4:-`."""
    return ":".join("-" if length == ALL else f"{start},{length}" for start, length in part)


def shape_of(part: Slice) -> tuple[int, ...]:
    return tuple(length for _, length in part)


def common(a: Slice, b: Slice) -> Slice | None:
    """What lies in both, if anything does."""
    out = []
    for (start, length), (other, other_length) in zip(a, b, strict=True):
        begin, end = max(start, other), min(start + length, other + other_length)
        if begin >= end:
            return None
        out.append((begin, end - begin))
    return tuple(out)


def tiles(region: Slice, parts: Iterable[Slice]) -> bool:
    """Whether every element of a region, which has some, is in exactly one of the parts.

    Give each corner of a box the sign + or -, by how many of its coordinates are
    ends: where boxes meet the signs cancel, and what is left are the corners of
    all of them together. That has to be the region, and takes no mask of elements.
    """
    boxes = [*parts]
    # an axis that nobody cuts adds nothing but twice the corners
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
    """The numpy index of a part in an array that begins where `origin` does."""
    return tuple(
        slice(start - zero, start - zero + length)
        for (start, length), (zero, _) in zip(part, origin, strict=True)
    )


def join(
    region: Slice, kind: np.dtype[Any], parts: Mapping[Slice, Callable[[], NDArray[Any]]], room: int
) -> NDArray[Any]:
    """The region as one read-only array; only the parts that lie in it are read.

    ValueError if the parts do not make up the region, or if it is larger than
    the `room` bytes that they can have come from.
    """
    import numpy as np

    if region in parts:
        return parts[region]()
    shared = {part: both for part in parts if (both := common(part, region))}
    size = prod(shape_of(region))
    if size and not tiles(region, shared.values()):
        raise ValueError("slices that overlap or leave gaps")
    if size * (1 if kind.hasobject else kind.itemsize) > room:
        raise ValueError(f"{room} bytes")
    out = np.empty(shape_of(region), kind)
    for part, both in shared.items():
        out[select(both, region)] = parts[part]()[select(both, part)]
    out.flags.writeable = False
    return out
