"""Nodes that move elements, or change only the axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.size_expression import Number, SizeExpression

LARGEST = 2**31 - 1
"""A bound that is not one."""


def identity(_out: LiteScribe, node: IslandNode) -> IslandValue:
    return node.first


def transpose(_out: LiteScribe, node: IslandNode) -> IslandValue:
    """Nothing is moved until an order is required."""
    x = node.first
    perm = node.attrs.get("perm") or list(range(len(x.sizes)))[::-1]
    order = tuple(perm.index(axis) for axis in x.order)
    return IslandValue(tuple(x.sizes[axis] for axis in perm), x.tensor, order, dtype=x.dtype)


def reshape(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, target = node.first, node.value(1)
    if target.array is None:
        (rank,) = target.sizes
        if not isinstance(rank, int):
            raise NotInLite("Reshape to an unknown rank")
        vector = out.cast(out.as_tensor(target), "int32").tensor
        if not node.attrs.get("allowzero"):
            vector = _with_copied_sizes(out, vector, x, rank)
        return out.add("RESHAPE", [out.plain(x), vector], [None] * rank, dtype=x.dtype)
    shape: list[Number] = [size if isinstance(size, SizeExpression) else int(size) for size in target.array]
    if not node.attrs.get("allowzero"):
        shape = [x.sizes[axis] if size == 0 else size for axis, size in enumerate(shape)]
    if -1 in shape:
        others = math.prod(size for size in shape if size != -1)
        return _with_one_open(out, x, shape, others)
    return _with_sizes(out, x, shape)


def _with_copied_sizes(out: LiteScribe, vector: int, x: IslandValue, rank: int) -> int:
    """A computed shape, with the sizes of `x` where it has zeros, which ONNX means by them."""
    own = out.sizes([*x.sizes, *[1] * rank][:rank])
    is_zero = out.add("EQUAL", [vector, out.ints(0)], (rank,), dtype="bool").tensor
    return out.add("SELECT_V2", [is_zero, own, vector], (rank,), dtype="int32").tensor


def _with_one_open(out: LiteScribe, x: IslandValue, shape: list[Number], others: Number) -> IslandValue:
    """A reshape in which one size, -1, follows from the others."""
    if others == 0:
        others = 1
    try:
        shape[shape.index(-1)] = x.elements // others  # type: ignore[operator]
    except TypeError:  # only a run can say it
        real: list[Number | None] = [None if size == -1 else size for size in shape]
        return out.add("RESHAPE", [out.plain(x), out.sizes(shape)], real, dtype=x.dtype)
    return _with_sizes(out, x, shape)


def flatten(out: LiteScribe, node: IslandNode) -> IslandValue:
    axis = node.attrs.get("axis", 1)
    rows, columns = math.prod(node.first.sizes[:axis]), math.prod(node.first.sizes[axis:])
    return _with_sizes(out, node.first, (rows, columns))


def squeeze(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    axes = node.list_of("axes", 1)
    gone = {axis % len(x.sizes) for axis in axes} if axes is not None else {
        axis for axis, size in enumerate(x.sizes) if size == 1
    }  # fmt: skip
    return without_axes(out, x, gone)


def without_axes(out: LiteScribe, x: IslandValue, gone: set[int]) -> IslandValue:
    """A value without some axes of size 1, the others as they lie."""
    kept = [axis for axis in range(len(x.sizes)) if axis not in gone]
    order = [kept.index(axis) for axis in x.order if axis in kept]
    return out.reshaped(x.tensor, [x.sizes[axis] for axis in kept], order, x.dtype)


def unsqueeze(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, axes = node.first, node.list_of("axes", 1) or []
    rank = len(x.sizes) + len(axes)
    new = {axis % rank for axis in axes}
    kept = [axis for axis in range(rank) if axis not in new]
    sizes: list[Number] = [1] * rank
    for axis, size in zip(kept, x.sizes, strict=True):
        sizes[axis] = size
    return out.reshaped(x.tensor, sizes, [*sorted(new), *(kept[axis] for axis in x.order)], x.dtype)


def concat(out: LiteScribe, node: IslandNode) -> IslandValue:
    values = [node.value(number) for number in range(len(node.inputs))]
    rank = len(values[0].sizes)
    axis = node.attrs["axis"] % rank
    leader = max((value for value in values if value.array is None), key=lambda value: value.weight)
    sizes = list(leader.sizes)
    sizes[axis] = sum(value.sizes[axis] for value in values)
    kept = [value for value in values if value.sizes[axis] != 0]
    tensors = [out.in_order(value, leader.order) for value in kept]
    if len(tensors) == 1:
        return IslandValue(tuple(sizes), tensors[0], leader.order, dtype=leader.dtype)
    position = leader.position(axis)
    return out.add("CONCATENATION", tensors, sizes, leader.order, leader.dtype, axis=position)


def slices(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    axes, steps = node.list_of("axes", 3), node.list_of("steps", 4)
    starts, ends = (_bounds(node.value(number)) for number in (1, 2))
    axes = [axis % len(x.sizes) for axis in (axes if axes is not None else range(len(starts)))]
    steps = steps or [1] * len(starts)
    if None in starts or None in ends:
        return _part_at(out, node, axes, steps)
    parts: dict[int, list[Any]] = {axis: part for axis, *part in zip(axes, starts, ends, steps, strict=True)}
    if all(
        isinstance(x.sizes[axis], int) and part[2] > 0 and _are_known(part) for axis, part in parts.items()
    ):
        ranges = {axis: range(x.sizes[axis])[slice(*part)] for axis, part in parts.items()}  # type: ignore[arg-type]
        if max(steps, default=1) == 1:
            begins = [ranges[axis].start if axis in ranges else 0 for axis in range(len(x.sizes))]
            sizes = [len(ranges[axis]) if axis in ranges else size for axis, size in enumerate(x.sizes)]
            return _part(out, x, begins, sizes)
    return _strided(out, x, parts)


def _bounds(value: IslandValue) -> list[Number | None]:
    """The numbers of a vector; None for those that only a run knows."""
    if value.array is None:
        (length,) = value.sizes
        if not isinstance(length, int):
            raise NotInLite("Slice of an unknown number of axes")
        return [None] * length
    return [size if isinstance(size, SizeExpression) else int(size) for size in value.array]


def _are_known(numbers: Sequence[Number | None]) -> bool:
    return all(isinstance(number, int) for number in numbers)


def _strided(out: LiteScribe, x: IslandValue, parts: Mapping[int, Sequence[Any]]) -> IslandValue:
    """A part by STRIDED_SLICE, whose bounds may be negative or too large, as ONNX's."""
    begins: list[Number] = [0] * len(x.sizes)
    ends: list[Number] = [0] * len(x.sizes)
    steps, begin_mask, end_mask = [1] * len(x.sizes), 0, 0
    sizes: list[Number | None] = list(x.sizes)
    for axis in range(len(x.sizes)):
        position = x.position(axis)
        start, end, step = parts.get(axis, (0, LARGEST, 1))
        steps[position] = step
        begins[position], ends[position] = start, end
        if isinstance(start, int) and abs(start) >= LARGEST:
            begins[position], begin_mask = 0, begin_mask | 1 << position
        if isinstance(end, int) and abs(end) >= LARGEST:
            ends[position], end_mask = 0, end_mask | 1 << position
        if axis in parts:
            sizes[axis] = _length(x.sizes[axis], start, end, step)
    if 0 in sizes:
        raise NotInLite("an empty part")
    bounds = [out.sizes(begins), out.sizes(ends), out.ints(*steps)]
    masks = {"begin_mask": begin_mask, "end_mask": end_mask}
    return out.add("STRIDED_SLICE", [x.tensor, *bounds], sizes, x.order, x.dtype, **masks)


def _length(size: Number, start: Number, end: Number, step: int) -> Number | None:
    """The size of a part; None if it is not known."""
    if isinstance(size, int) and _are_known([start, end]):
        return len(range(size)[slice(start, end, step)])  # type: ignore[arg-type]
    if step < 0:
        is_whole = isinstance(start, int) and isinstance(end, int) and (start == -1 or start >= LARGEST)
        return size if step == -1 and is_whole and end <= -LARGEST else None  # type: ignore[operator]
    if isinstance(start, int) and start < 0:
        start = size + start
    if isinstance(end, int) and end >= LARGEST:
        end = size
    elif isinstance(end, int) and end < 0:
        end = size + end
    elif end != size:
        return None
    return (end - start + step - 1) // step


def _part_at(out: LiteScribe, node: IslandNode, axes: Sequence[int], steps: Sequence[int]) -> IslandValue:
    """A part whose bounds a run computes."""
    x, rank = node.first, len(node.first.sizes)
    if any(step != 1 for step in steps):
        raise NotInLite("Slice with steps at bounds that are computed")
    vectors = []
    for number, filler in ((1, 0), (2, LARGEST)):
        bound = node.value(number)
        own = out.plain(out.cast(out.as_tensor(bound), "int32"))
        pieces = [out.ints(filler)] * rank
        for index, axis in enumerate(axes):
            whole = [own, out.ints(index), out.ints(1)]
            pieces[axis] = own if len(axes) == 1 else out.add("SLICE", whole, (1,), dtype="int32").tensor
        joined = out.add("CONCATENATION", pieces, (rank,), dtype="int32", axis=0).tensor
        vectors.append(joined if rank > 1 else pieces[0])
    sizes = [None if axis in axes else size for axis, size in enumerate(x.sizes)]
    tensors = [out.plain(x), *vectors, out.ints(*[1] * rank)]
    return out.add("STRIDED_SLICE", tensors, sizes, dtype=x.dtype)


def split(out: LiteScribe, node: IslandNode) -> list[IslandValue]:
    x = node.first
    axis = node.attrs.get("axis", 0) % len(x.sizes)
    lengths = node.list_of("split", 1)
    size = x.sizes[axis]
    if lengths is None:
        if not isinstance(size, int):
            raise NotInLite("Split of an unknown size")
        length = -(-size // node.outputs)
        lengths = [min(length, size - length * number) for number in range(node.outputs)]
    if out.file.is_small and len(lengths) > 1:  # XNNPACK, which gets islands, has no such operator
        return _split(out, x, axis, lengths)
    parts, begins, sizes = [], [0] * len(x.sizes), list(x.sizes)
    for length in lengths:
        sizes[axis] = length
        parts.append(_part(out, x, begins, sizes))
        begins[axis] += length
    return parts


def _split(out: LiteScribe, x: IslandValue, axis: int, lengths: Sequence[int]) -> list[IslandValue]:
    results = [
        ([length if a == axis else size for a, size in enumerate(x.sizes)], x.dtype) for length in lengths
    ]
    at = out.array(np.array(x.position(axis), np.int32))
    if len(set(lengths)) == 1:
        return out.add_all("SPLIT", [at, x.tensor], results, x.order, num_splits=len(lengths))
    tensors = [x.tensor, out.ints(*lengths), at]
    return out.add_all("SPLIT_V", tensors, results, x.order, num_splits=len(lengths))


def pad(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, rank = node.first, len(node.first.sizes)
    value, numbers = node.known(2), node.list_of("pads", 1)
    axes = node.list_of("axes", 3) or list(range(rank))
    mode = node.attrs.get("mode", "constant")
    if mode not in PADDINGS or numbers is None:
        raise NotInLite(f"Pad in the mode {mode}")
    pairs = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pairs[axis % rank] = (numbers[index], numbers[index + len(axes)])
    if min(numbers, default=0) < 0:
        cuts = {
            axis: (-min(before, 0), min(after, 0) or LARGEST, 1) for axis, (before, after) in enumerate(pairs)
        }
        x = _strided(out, x, {axis: cut for axis, cut in cuts.items() if cut != (0, LARGEST, 1)})
        pairs = [(max(before, 0), max(after, 0)) for before, after in pairs]
        if not any(map(any, pairs)):
            return x
    sizes = [size + before + after for size, (before, after) in zip(x.sizes, pairs, strict=True)]
    op, options, tensors = PADDINGS[mode], {}, [x.tensor, out.pairs([pairs[axis] for axis in x.order])]
    if op == "MIRROR_PAD":
        options["mode"] = "REFLECT"
    elif value is not None and value.any():
        op, tensors = "PADV2", [*tensors, out.array(value.reshape(()).astype(x.dtype))]
    return out.add(op, tensors, sizes, x.order, x.dtype, **options)


PADDINGS = {"constant": "PAD", "reflect": "MIRROR_PAD"}


def blocks(out: LiteScribe, node: IslandNode) -> IslandValue:
    """DepthToSpace and SpaceToDepth, with the blocks before the channels."""
    x, block = node.first, node.attrs["blocksize"]
    batch, channels, height, width = x.sizes
    image = out.in_order(x, channels_last(x.sizes))
    if node.op == "SpaceToDepth":
        op, sizes = "SPACE_TO_DEPTH", (batch, channels * block**2, height // block, width // block)
    elif node.attrs.get("mode", "DCR") == "DCR":
        op, sizes = "DEPTH_TO_SPACE", (batch, channels // block**2, height * block, width * block)
    else:
        raise NotInLite("DepthToSpace with the channels before the blocks")
    return out.add(op, [image], sizes, (0, 2, 3, 1), x.dtype, block_size=block)


def _part(out: LiteScribe, x: IslandValue, begins: Sequence[int], sizes: Sequence[Number]) -> IslandValue:
    """A part; axes of unknown size are whole."""
    if 0 in sizes:
        raise NotInLite("an empty part")
    lengths = [size if isinstance(size, int) else -1 for size in sizes]
    bounds = out.ints(*(begins[axis] for axis in x.order)), out.ints(*(lengths[axis] for axis in x.order))
    return out.add("SLICE", [x.tensor, *bounds], sizes, x.order, x.dtype)


def _with_sizes(out: LiteScribe, x: IslandValue, sizes: Sequence[Number]) -> IslandValue:
    elements = math.prod(sizes)
    if isinstance(elements, int) and isinstance(x.elements, int) and elements != x.elements:
        raise NotInLite("a reshape to another number of elements")
    return out.reshaped(out.plain(x), sizes, None, x.dtype)
