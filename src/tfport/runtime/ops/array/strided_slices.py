"""Strided slices: begin, end, strides and five masks as a NumPy index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALL, NEW, ONE, SPAN = "all", "new", "one", "span"


@dataclass(frozen=True, slots=True)
class Part:
    """What happens to one axis; `at` is its index in begin, end and strides."""

    kind: str
    at: int = -1
    from_first: bool = False
    to_last: bool = False


def parts(length: int, rank: int, begin: int, end: int, ellipsis: int, new: int, shrink: int) -> list[Part]:
    """Expand the masks: a part for each axis that is read or added, in order."""
    if (ellipsis & ((1 << length) - 1)).bit_count() > 1:
        raise RunFailed(f"ellipsis_mask must have at most one bit set, found {ellipsis:b} (binary)")
    dots = next((i for i in range(length) if ellipsis >> i & 1), None)
    specified = sum(1 for i in range(length) if i != dots and not new >> i & 1)
    if specified > rank:
        raise RunFailed(f"the slice specifies {specified} axes, the input has {rank}")
    rest = [Part(ALL)] * (rank - specified)
    expanded: list[Part] = []
    for i in range(length):
        if i == dots:
            expanded += rest
        elif new >> i & 1:
            expanded.append(Part(NEW, i))
        else:
            kind = ONE if shrink >> i & 1 else SPAN
            expanded.append(Part(kind, i, bool(begin >> i & 1), bool(end >> i & 1)))
    return expanded if dots is not None else expanded + rest


def index_of(
    shape: Sequence[int], begin: NDArray[Any], end: NDArray[Any], strides: NDArray[Any], masks: Sequence[int]
) -> tuple[Any, ...]:
    """The NumPy index of a strided slice of a tensor of this shape."""
    if not begin.shape == end.shape == strides.shape or begin.ndim != 1:
        raise RunFailed("begin, end and strides must be vectors of the same length")
    index: list[Any] = []
    axis = 0
    for part in parts(len(begin), len(shape), *masks):
        if part.kind == NEW:
            index.append(np.newaxis)
            continue
        index.append(slice(None) if part.kind == ALL else _axis_index(part, shape[axis], begin, end, strides))
        axis += 1
    return tuple(index)


def constant_index(
    begin: NDArray[Any], end: NDArray[Any], strides: NDArray[Any], attrs: Mapping[str, Any]
) -> tuple[Any, ...] | None:
    """The NumPy index of a slice of any tensor; None where it depends on the shape, or is wrong."""
    if not begin.shape == end.shape == strides.shape or begin.ndim != 1 or attrs["ellipsis_mask"]:
        return None
    index: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True)):
        if attrs["new_axis_mask"] >> i & 1:
            index.append(np.newaxis)
        elif attrs["shrink_axis_mask"] >> i & 1:
            if step < 1:
                return None
            index.append(first)
        elif not step:
            return None
        else:
            starts, ends = attrs["begin_mask"] >> i & 1, attrs["end_mask"] >> i & 1
            index.append(slice(None if starts else first, None if ends else last, step))
    return (*index, ...)


def _axis_index(part: Part, size: int, begin: NDArray[Any], end: NDArray[Any], strides: NDArray[Any]) -> Any:
    first, last, step = (int(vector[part.at]) for vector in (begin, end, strides))
    if step == 0:
        raise RunFailed(f"strides[{part.at}] is zero")
    if part.kind == ONE:
        if step < 0:
            raise RunFailed(f"the stride must be positive where shrink_axis_mask is set, found {step}")
        if not -size <= first < size:
            raise RunFailed(f"slice index {first} of dimension {part.at} out of bounds.")
        return first % size
    return slice(None if part.from_first else first, None if part.to_last else last, step)
