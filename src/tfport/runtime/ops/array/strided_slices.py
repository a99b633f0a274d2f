"""What a strided slice takes: begin, end and strides with five masks, as an index for NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfport.errors import RunFailed

ALL, NEW, ONE, SPAN = "all", "new", "one", "span"


@dataclass(frozen=True, slots=True)
class Part:
    """What happens at one axis; `at` is its place in begin, end and strides."""

    kind: str
    at: int = -1
    from_first: bool = False
    to_last: bool = False


def parts(length: int, rank: int, begin: int, end: int, ellipsis: int, new: int, shrink: int) -> list[Part]:
    """The masks spelled out: a part for each axis that is read or made, in order."""
    if (ellipsis & ((1 << length) - 1)).bit_count() > 1:
        raise RunFailed("a slice has more than one ellipsis")
    dots = next((i for i in range(length) if ellipsis >> i & 1), None)
    spoken = sum(1 for i in range(length) if i != dots and not new >> i & 1)
    if spoken > rank:
        raise RunFailed(f"a slice over {spoken} axes of a tensor that has {rank}")
    rest = [Part(ALL)] * (rank - spoken)
    found: list[Part] = []
    for i in range(length):
        if i == dots:
            found += rest
        elif new >> i & 1:
            found.append(Part(NEW, i))
        else:
            kind = ONE if shrink >> i & 1 else SPAN
            found.append(Part(kind, i, bool(begin >> i & 1), bool(end >> i & 1)))
    return found if dots is not None else found + rest


def index_of(
    shape: Sequence[int], begin: NDArray[Any], end: NDArray[Any], strides: NDArray[Any], masks: Sequence[int]
) -> tuple[Any, ...]:
    """The index that takes what a strided slice takes of a tensor of this shape."""
    if not begin.shape == end.shape == strides.shape or begin.ndim != 1:
        raise RunFailed("begin, end and strides must be vectors of one length")
    found: list[Any] = []
    axis = 0
    for part in parts(len(begin), len(shape), *masks):
        if part.kind == NEW:
            found.append(np.newaxis)
            continue
        found.append(slice(None) if part.kind == ALL else _taken(part, shape[axis], begin, end, strides))
        axis += 1
    return tuple(found)


def _taken(part: Part, size: int, begin: NDArray[Any], end: NDArray[Any], strides: NDArray[Any]) -> Any:
    first, last, step = (int(one[part.at]) for one in (begin, end, strides))
    if step == 0:
        raise RunFailed(f"strides[{part.at}] is zero")
    if part.kind == ONE:
        if step < 0:
            raise RunFailed("only a positive stride is allowed where an axis is taken away")
        if not -size <= first < size:
            raise RunFailed(f"index {first} of dimension {part.at} is out of bounds; its size is {size}")
        return first % size
    return slice(None if part.from_first else first, None if part.to_last else last, step)
