"""Nodes that read elements at places that a run computes, and that repeat or fill elements."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tfport.runtime.engines.litert.island_node import (
    IslandNode,
    IslandValue,
    NotInLite,
    constant_value,
    plain_order,
)
from tfport.runtime.engines.litert.lite_scribe import LiteScribe
from tfport.runtime.engines.litert.rules.elementwise import broadcast, broadcast_sizes
from tfport.runtime.size_expression import Number


def gather(out: LiteScribe, node: IslandNode) -> IslandValue:
    """Elements of an axis, at constant places or at those of a run."""
    x, indices = node.first, node.value(1)
    axis = node.attrs.get("axis", 0) % len(x.sizes)
    length = x.sizes[axis]
    order = x.order if len(indices.sizes) == 1 else plain_order(x.sizes)
    if indices.array is not None:
        places = indices.constant()
        if isinstance(length, int) and places.size and places.min() >= -length and places.max() < length:
            places = places % length
        elif not places.size or isinstance(length, int) or places.min() < 0:
            raise NotInLite("Gather of such places")
        indices = constant_value(places.astype(np.int32))
    sizes = (*x.sizes[:axis], *indices.sizes, *x.sizes[axis + 1 :])
    own = order if len(indices.sizes) == 1 else plain_order(sizes)
    position = order.index(axis)
    tensors = [out.in_order(x, order), out.plain(indices)]
    return out.add("GATHER", tensors, sizes, own, x.dtype, axis=position, batch_dims=0)


def gather_nd(out: LiteScribe, node: IslandNode) -> IslandValue:
    x, indices = node.first, node.value(1)
    depth = indices.sizes[-1]
    if node.attrs.get("batch_dims") or not isinstance(depth, int):
        raise NotInLite("GatherND by batches, or of unknown depth")
    if indices.array is not None and (indices.constant() < 0).any():
        raise NotInLite("GatherND of negative places")
    sizes = (*indices.sizes[:-1], *x.sizes[depth:])
    return out.add("GATHER_ND", [out.plain(x), out.plain(indices)], sizes, dtype=x.dtype)


def filled(out: LiteScribe, node: IslandNode) -> IslandValue:
    shape, value = node.first, node.attrs.get("value")
    number = np.zeros((), np.float32) if value is None else value.reshape(())
    vector, sizes = vector_of(out, shape)
    return out.add("FILL", [vector, out.array(number)], sizes, dtype=number.dtype.name)


def vector_of(out: LiteScribe, value: IslandValue) -> tuple[int, list[Number | None]]:
    """A vector of int32 with sizes, and what is known of them."""
    (length,) = value.sizes
    if not isinstance(length, int):
        raise NotInLite("a result of unknown rank")
    if value.array is not None:
        sizes = [size if not isinstance(size, np.integer) else int(size) for size in value.array.tolist()]
        return out.sizes(sizes), list(sizes)
    return out.cast(out.as_tensor(value), "int32").tensor, [None] * length


def expand(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = out.as_tensor(node.first)
    vector, wanted = vector_of(out, node.value(1))
    sizes = _expanded_sizes(x.sizes, wanted)
    full = [size for size in sizes if size is not None]
    if full == list(x.sizes) and len(full) == len(sizes):
        return x
    if len(full) == len(sizes):
        vector = out.sizes(full)
    elif len(x.sizes) > len(wanted) or any(size != 1 for size in x.sizes):
        vector = out.add("BROADCAST_ARGS", [out.sizes(x.sizes), vector], (len(sizes),), dtype="int32").tensor
    return out.add("BROADCAST_TO", [out.plain(x), vector], sizes, dtype=x.dtype)


def _expanded_sizes(sizes: Sequence[Number], wanted: Sequence[Number | None]) -> list[Number | None]:
    """The sizes of both broadcast together; None where only a run shows them."""
    rank = max(len(sizes), len(wanted))
    known = broadcast_sizes([(1,) * rank, sizes, [1 if size is None else size for size in wanted]])
    is_open = [False] * (rank - len(wanted)) + [size is None for size in wanted]
    return [
        None if is_computed and (size == 1 or not isinstance(size, int)) else size
        for size, is_computed in zip(known, is_open, strict=True)
    ]


def tile(out: LiteScribe, node: IslandNode) -> IslandValue:
    x = node.first
    vector, counts = vector_of(out, node.value(1))
    sizes = [None if count is None else size * count for size, count in zip(x.sizes, counts, strict=True)]
    repeated = [count for count in counts if count is not None]
    if len(repeated) < len(counts):
        return out.add("TILE", [out.plain(x), vector], sizes, dtype=x.dtype)
    lying = out.sizes([repeated[axis] for axis in x.order])
    return out.add("TILE", [x.tensor, lying], sizes, x.order, x.dtype)


def numbers(out: LiteScribe, node: IslandNode) -> IslandValue:
    """A range."""
    values = [node.value(number) for number in range(3)]
    start, limit, step = values
    is_plain = start.array is not None and step.array is not None
    starts_at_zero = is_plain and not start.constant().any() and (step.constant() == 1).all()
    dtype = start.dtype
    is_short = dtype == "int64" and all(map(_fits_int32, values))
    if is_short:  # only newer interpreters have ranges of int64
        values = [_as_int32(out, value) for value in values]
    tensors = [out.plain(value) for value in values]
    length = None
    if starts_at_zero and limit.is_of_sizes:
        assert limit.array is not None
        length = limit.array.reshape(-1)[0]
    result = out.add("RANGE", tensors, (length,), dtype=values[0].dtype)
    return out.cast(result, dtype)


def _fits_int32(value: IslandValue) -> bool:
    """Whether all its numbers are sizes, or small constants."""
    if value.array is None or value.is_of_sizes:
        return value.is_of_sizes
    return bool((np.abs(value.array) <= np.iinfo(np.int32).max).all())


def _as_int32(out: LiteScribe, value: IslandValue) -> IslandValue:
    if value.is_of_sizes:
        return out.cast(out.computed(value), "int32")
    return constant_value(value.constant().astype(np.int32))


def nonzero(out: LiteScribe, node: IslandNode) -> IslandValue:
    """The places of elements that are not zero, one in each column."""
    x = node.first
    if x.dtype != "bool":
        x = broadcast(out, "NOT_EQUAL", [x, constant_value(np.zeros((), x.dtype))], "bool")
    indices_found = out.add("WHERE", [out.plain(x)], (None, len(x.sizes)), dtype="int64")
    return IslandValue(indices_found.sizes[::-1], indices_found.tensor, (1, 0), dtype="int64")


def one_hot(out: LiteScribe, node: IslandNode) -> IslandValue:
    indices, depth, values = node.first, node.value(1).constant(), node.value(2).constant()
    count = int(depth.reshape(-1)[0])
    axis = node.attrs.get("axis", -1) % (len(indices.sizes) + 1)
    sizes = (*indices.sizes[:axis], count, *indices.sizes[axis:])
    off, on = (out.array(values[number].reshape(())) for number in (0, 1))
    own = out.cast(indices, "int32")
    depth_tensor = out.array(np.array(count, np.int32))
    tensors = [out.plain(own), depth_tensor, on, off]
    return out.add("ONE_HOT", tensors, sizes, dtype=values.dtype.name, axis=axis)


def suppression(out: LiteScribe, node: IslandNode) -> IslandValue:
    """NonMaxSuppression of one image and one class: the places of the boxes that are kept."""
    boxes, scores = node.first, out.as_tensor(node.value(1))
    if boxes.sizes[0] != 1 or list(scores.sizes[:2]) != [1, 1] or node.attrs.get("center_point_box"):
        raise NotInLite("NonMaxSuppression of several images or classes, or of boxes by their centers")
    usual = ((2, np.array(0, np.int64), "int32"), (3, np.array(0, np.float32), "float32"),
             (4, np.array(-np.inf, np.float32), "float32"))  # fmt: skip
    limits = [
        _scalar(out, node.optional(number) or constant_value(start), dtype) for number, start, dtype in usual
    ]
    tensors = [
        out.reshaped(out.plain(boxes), boxes.sizes[1:]).tensor,
        out.reshaped(out.plain(scores), scores.sizes[2:]).tensor,
        *limits,
    ]
    indices_found, count = out.add_all("NON_MAX_SUPPRESSION_V4", tensors, [((None,), "int32"), ((), "int32")])
    length = out.reshaped(count.tensor, (1,), None, "int32").tensor
    kept = out.add("SLICE", [indices_found.tensor, out.ints(0), length], (None,), dtype="int32")
    column = out.cast(out.reshaped(kept.tensor, (*kept.sizes, 1), None, "int32"), "int64")
    around = out.pairs([(0, 0), (2, 0)])
    return out.add("PAD", [column.tensor, around], (*kept.sizes, 3), dtype="int64")


def _scalar(out: LiteScribe, value: IslandValue, dtype: str) -> int:
    if value.array is not None and not value.is_of_sizes:
        number = value.constant().reshape(())
        limit = np.iinfo(np.int32).max if dtype == "int32" else None
        return out.array(np.minimum(number, limit).astype(dtype) if limit else number.astype(dtype))
    tensor = out.cast(out.as_tensor(out.computed(value) if value.is_of_sizes else value), dtype)
    return out.reshaped(tensor.tensor, (), None, dtype).tensor if tensor.sizes else tensor.tensor
