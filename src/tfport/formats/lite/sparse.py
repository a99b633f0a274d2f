"""Constants that are stored without most of their zeros.

A sparse tensor is a tree: one level for each axis of the tensor and for each axis of its blocks, in an order
that the file chooses. A dense level has all indices up to its size; a sparse one lists, for each node of the
level above, the indices that are stored. The leaves are the stored elements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Integers = Any
"""An array of integers."""
LARGEST, DENSEST = 1 << 24, 4096
"""A larger tensor has at most so many elements for each that is stored, so that a small file stays small."""


def dense_array(elements: NDArray[Any], shape: Sequence[int], sparsity: Mapping[str, Any]) -> NDArray[Any]:
    """All elements of a sparse tensor; ValueError if its levels do not fit the shape or the elements."""
    order = np.asarray(sparsity.get("traversal_order", ()), np.int64)
    blocks = list(sparsity.get("block_map", ()) or ())
    levels = list(sparsity.get("dim_metadata", ()) or ())
    rank = len(shape)
    if sorted(order.tolist()) != list(range(rank + len(blocks))) or len(levels) != len(order):
        raise ValueError("its levels are not those of its axes and blocks")
    if any(not 0 <= axis < rank for axis in blocks):
        raise ValueError("it has blocks of an axis that does not exist")
    if math.prod(shape) > max(LARGEST, DENSEST * len(elements)):
        raise ValueError(f"{len(elements):,} elements are too few for a tensor of {math.prod(shape):,}")
    coordinates = _leaves(levels, len(elements))
    by_axis = dict(zip(order.tolist(), coordinates, strict=True))
    sizes = {axis: levels[level].get("dense_size", 0) for level, axis in enumerate(order.tolist())}
    indices = [by_axis[axis] for axis in range(rank)]
    for number, axis in enumerate(blocks):
        indices[axis] = indices[axis] * sizes[rank + number] + by_axis[rank + number]
    if any(len(p) and (p.min() < 0 or p.max() >= size) for p, size in zip(indices, shape, strict=True)):
        raise ValueError("an index is outside of its shape")
    dense = np.zeros(tuple(shape), elements.dtype)
    dense[tuple(indices)] = elements[: len(indices[0])] if indices else elements[0]
    return dense


def _leaves(levels: Sequence[Mapping[str, Any]], limit: int) -> list[Integers]:
    """The indices of all leaves, one array for each level."""
    nodes = np.zeros(1, np.int64)
    coordinates: list[Integers] = []
    for level in levels:
        if level.get("format", "DENSE") == "DENSE":
            size = level.get("dense_size", 0)
            if not 0 <= size <= limit:
                raise ValueError(f"a level of {size:,} indices for {limit:,} elements")
            parents = np.repeat(np.arange(len(nodes)), size) if len(nodes) * size <= limit else None
            own = np.tile(np.arange(size), len(nodes)) if parents is not None else None
            below = nodes[parents] * size + own if parents is not None else None
        else:
            parents, own, below = _sparse_level(level, nodes, limit)
        if parents is None or own is None or below is None or len(parents) > limit:
            raise ValueError(f"it describes more than its {limit:,} elements")
        coordinates = [indices[parents] for indices in coordinates] + [own]
        nodes = below
    return coordinates


def _sparse_level(level: Mapping[str, Any], nodes: Integers, limit: int) -> tuple[Any, Any, Any]:
    segments, indices = (
        np.frombuffer(values, np.uint8).astype(np.int64) if isinstance(values, memoryview | bytes)
        else np.asarray(values, np.int64)
        for values in (level.get(name, {}).get("values", ()) for name in ("array_segments", "array_indices"))
    )  # fmt: skip
    if len(nodes) and nodes.max() + 1 >= len(segments):
        raise ValueError("a level has fewer segments than the level above has nodes")
    starts, ends = segments[nodes], segments[nodes + 1]
    counts = ends - starts
    if (counts < 0).any() or (len(ends) and ends.max() > len(indices)) or (starts < 0).any():
        raise ValueError("the segments of a level do not fit its indices")
    if counts.sum() > limit:
        return None, None, None
    parents = np.repeat(np.arange(len(nodes)), counts)
    offsets = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    below = starts[parents] + offsets
    return parents, indices[below], below
