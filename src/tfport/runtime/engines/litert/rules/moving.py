"""Nodes that move elements, or change only the axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.runtime.engines.litert.island_node import IslandNode, IslandValue, NotInLite, channels_last
from tfport.runtime.engines.litert.lite_scribe import LiteScribe


def identity(_out: LiteScribe, node: IslandNode) -> IslandValue:
    return node.first


def transpose(_out: LiteScribe, node: IslandNode) -> IslandValue:
    """Nothing is moved until an order is required."""
    x = node.first
    perm = node.attrs.get("perm") or list(range(len(x.sizes)))[::-1]
    order = tuple(perm.index(axis) for axis in x.order)
    return IslandValue(tuple(x.sizes[axis] for axis in perm), x.tensor, order)


def reshape(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, shape = node.first, [int(size) for size in node.value(1).constant()]
    if not node.attrs.get("allowzero"):
        shape = [x.sizes[axis] if size == 0 else size for axis, size in enumerate(shape)]
    if -1 in shape:
        others = int(np.prod([size for size in shape if size != -1]))
        shape[shape.index(-1)] = x.elements // max(others, 1)
    return _with_sizes(out, x, shape)


def flatten(out: LiteScribe, node: IslandNode) -> IslandValue:
    axis = node.attrs.get("axis", 1)
    rows = int(np.prod(node.first.sizes[:axis]))
    return _with_sizes(out, node.first, (rows, node.first.elements // rows))


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
    return out.reshaped(x.tensor, [x.sizes[axis] for axis in kept], order)


def unsqueeze(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, axes = node.first, node.list_of("axes", 1) or []
    rank = len(x.sizes) + len(axes)
    new = {axis % rank for axis in axes}
    kept = [axis for axis in range(rank) if axis not in new]
    sizes = [1] * rank
    for axis, size in zip(kept, x.sizes, strict=True):
        sizes[axis] = size
    return out.reshaped(x.tensor, sizes, [*sorted(new), *(kept[axis] for axis in x.order)])


def concat(out: LiteScribe, node: IslandNode) -> IslandValue:
    values = [node.value(number) for number in range(len(node.inputs))]
    rank = len(values[0].sizes)
    axis = node.attrs["axis"] % rank
    leader = max((value for value in values if value.array is None), key=lambda value: value.elements)
    sizes = list(leader.sizes)
    sizes[axis] = sum(value.sizes[axis] for value in values)
    tensors = [out.in_order(value, leader.order) for value in values]
    return out.add("CONCATENATION", tensors, sizes, leader.order, axis=leader.position(axis))


def gather(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Elements at constant places of an axis."""
    x, indices = node.first, node.value(1).constant()
    axis = node.attrs.get("axis", 0) % len(x.sizes)
    length = x.sizes[axis]
    if indices.ndim != 1 or not indices.size or indices.min() < -length or indices.max() >= length:
        raise NotInLite("Gather of such places")
    sizes = [*x.sizes[:axis], len(indices), *x.sizes[axis + 1 :]]
    return out.add(
        "GATHER",
        [x.tensor, out.ints(*(indices % length))],
        sizes,
        x.order,
        axis=x.position(axis),
        batch_dims=0,
    )


def slices(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    starts, ends = ([int(limit) for limit in node.value(number).constant()] for number in (1, 2))
    axes, steps = node.list_of("axes", 3) or range(len(starts)), node.list_of("steps", 4)
    steps = steps or [1] * len(starts)
    if min(steps) < 1:
        raise NotInLite("Slice backwards")
    ranges = [range(size) for size in x.sizes]
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        ranges[axis] = range(x.sizes[axis])[slice(start, end, step)]
    if max(steps) == 1:
        return _part(out, x, [extent.start for extent in ranges], [len(extent) for extent in ranges])
    return _part_with_steps(out, x, ranges)


def split(out: LiteScribe, node: IslandNode) -> list[IslandValue]:
    x = node.first
    axis = node.attrs.get("axis", 0) % len(x.sizes)
    lengths = node.list_of("split", 1)
    if lengths is None:
        length = -(-x.sizes[axis] // node.outputs)
        lengths = [min(length, x.sizes[axis] - length * number) for number in range(node.outputs)]
    parts, begins, sizes = [], [0] * len(x.sizes), list(x.sizes)
    for length in lengths:
        sizes[axis] = length
        parts.append(_part(out, x, begins, sizes))
        begins[axis] += length
    return parts


def pad(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, rank = node.first, len(node.first.sizes)
    value, numbers = node.known(2), node.list_of("pads", 1)
    axes = node.list_of("axes", 3) or list(range(rank))
    if node.attrs.get("mode", "constant") != "constant" or numbers is None or min(numbers) < 0:
        raise NotInLite("Pad with other elements, or one that cuts")
    if value is not None and value.any():
        raise NotInLite("Pad with a number other than 0")
    pairs = [(0, 0)] * rank
    for index, axis in enumerate(axes):
        pairs[axis % rank] = (numbers[index], numbers[index + len(axes)])
    sizes = [size + before + after for size, (before, after) in zip(x.sizes, pairs, strict=True)]
    return out.add("PAD", [x.tensor, out.pairs([pairs[axis] for axis in x.order])], sizes, x.order)


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
    return out.add(op, [image], sizes, (0, 2, 3, 1), block_size=block)


def _part(out: LiteScribe, x: IslandValue, begins: Sequence[int], sizes: Sequence[int]) -> IslandValue:
    if min(sizes) < 1:
        raise NotInLite("an empty part")
    bounds = out.ints(*(begins[axis] for axis in x.order)), out.ints(*(sizes[axis] for axis in x.order))
    return out.add("SLICE", [x.tensor, *bounds], sizes, x.order)


def _part_with_steps(out: LiteScribe, x: IslandValue, ranges: Sequence[range]) -> IslandValue:
    lying = [ranges[axis] for axis in x.order]
    if not all(lying):
        raise NotInLite("an empty part")
    bounds = [out.ints(*(getattr(extent, end) for extent in lying)) for end in ("start", "stop", "step")]
    return out.add("STRIDED_SLICE", [x.tensor, *bounds], [len(extent) for extent in ranges], x.order)


def _with_sizes(out: LiteScribe, x: IslandValue, sizes: Sequence[int]) -> IslandValue:
    if int(np.prod(sizes)) != x.elements:
        raise NotInLite("a reshape to another number of elements")
    return out.reshaped(out.plain(x), sizes)
