"""Operations that pick elements by position, or put them there: slices, scattering, sums of segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.keras.indexing import get_item, index_key
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.operations.rearranging import plain
from tfport.frontends.keras.promotion import tensors_of
from tfport.frontends.keras.rearranging import broadcast, one_hot
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import (
    broadcast_dims,
    expand_dims,
    gather,
    reduce,
    reshape,
    stack,
    transpose,
)
from tfport.graph.building.sizes import count_to, shape_vector, sizes
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, DType


@layer("ops.GetItem")
def get_item_operation(b: LayerBuilder, x: LayerTensor, key: Any) -> LayerTensor:
    return get_item(b, x, index_key(b, key))


@layer("ops.Slice")
def slice_operation(b: LayerBuilder, inputs: LayerTensor, start_indices: Any, *, shape: Any) -> LayerTensor:
    lengths = [-1 if n is None else n for n in plain(shape)]
    begins = start_indices if isinstance(start_indices, LayerTensor) else list(start_indices)
    return b.tensor(
        b.node("Slice", inputs, begins, lengths, Index=INT32), [None if n < 0 else n for n in lengths]
    )


@layer("ops.Take")
def take(b: LayerBuilder, x: LayerTensor, indices: Any, *, axis: int | None = None) -> LayerTensor:
    """Elements at positions of an axis; negative ones count from the end."""
    if axis is None:
        x, axis = reshape(b, x, (None,)), 0
    return gather(b, x, _wrapped(b, x, indices, axis), axis)


def _wrapped(b: LayerBuilder, x: LayerTensor, indices: Any, axis: int) -> LayerTensor:
    size = sizes(b, x)[axis]
    if not isinstance(indices, LayerTensor):
        array = np.asarray(indices, np.int32)
        if isinstance(size, int):
            return b.constant(np.where(array < 0, array + size, array), INT32)
        if array.size == 0 or array.min() >= 0:
            return b.constant(array, INT32)
        indices = b.constant(array, INT32)
    kept = indices if str(indices.dtype) in ("int32", "int64") else b.cast(indices, INT32)
    length = b.cast(size, kept.dtype) if isinstance(size, LayerTensor) else b.constant(size, kept.dtype)
    negative = b.cast(b.Less(kept, b.constant(0, kept.dtype)), kept.dtype)
    return b.Add(kept, b.Mul(negative, length))


@layer("ops.TakeAlongAxis")
def take_along_axis(b: LayerBuilder, x: LayerTensor, indices: Any, *, axis: int | None = None) -> LayerTensor:
    """Elements at positions of an axis that differ from row to row; the other axes broadcast."""
    if axis is None:
        return gather(b, reshape(b, x, (None,)), _wrapped(b, reshape(b, x, (None,)), indices, 0))
    axis = axis % x.rank
    positions = _wrapped(b, x, indices, axis)
    order = [i for i in range(x.rank) if i != axis] + [axis]
    rows, positions = transpose(b, x, order), transpose(b, positions, order)
    outer = _broadcast_sizes(b, rows, positions)
    rows, positions = (_with_outer(b, tensor, outer) for tensor in (rows, positions))
    flat = reshape(b, positions, (None, sizes(b, positions)[-1]))
    starts = b.Mul(count_to(b, sizes(b, flat)[0]), sizes(b, rows)[-1])
    flat = b.Add(flat, expand_dims(b, b.cast(starts, flat.dtype), 1))
    taken = gather(b, reshape(b, rows, (None,)), flat)
    result = b.tensor(reshape(b, taken, sizes(b, positions)).value, positions.shape)
    return transpose(b, result, [order.index(i) for i in range(x.rank)])


def _broadcast_sizes(b: LayerBuilder, x: LayerTensor, y: LayerTensor) -> list[Any]:
    """The sizes of all axes but the last after broadcasting; unknown ones of both are equal."""
    pairs = zip(sizes(b, x)[:-1], sizes(b, y)[:-1], strict=True)
    known = broadcast_dims(b, x.shape[:-1], y.shape[:-1])
    return [
        p if size is None and isinstance(p, LayerTensor) else q if size is None else size
        for size, (p, q) in zip(known, pairs, strict=True)
    ]


def _with_outer(b: LayerBuilder, x: LayerTensor, outer: list[Any]) -> LayerTensor:
    known = tuple(size if isinstance(size, int) else None for size in outer)
    if x.shape[:-1] == known:
        return x
    return b.tensor(broadcast(b, x, [*outer, sizes(b, x)[-1]]).value, (*known, x.shape[-1]))


@layer("ops.OneHot")
def one_hot_operation(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    num_classes: int,
    axis: int = -1,
    dtype: str | None = None,
    sparse: bool = False,
) -> LayerTensor:
    if sparse:
        raise b.refuse("its result is sparse, which tfport does not build")
    return one_hot(b, x, num_classes, axis, DType.parse(dtype) if dtype else FLOAT32)


@layer("ops.MultiHot")
def multi_hot(
    b: LayerBuilder,
    inputs: LayerTensor,
    *,
    num_classes: int,
    axis: int = -1,
    dtype: str | None = None,
    sparse: bool = False,
) -> LayerTensor:
    """Which classes occur along the second axis, or in the only one."""
    encoded_dtype = DType.parse(dtype) if dtype else FLOAT32
    encoded = one_hot(b, inputs, num_classes, axis, encoded_dtype)
    return reduce(b, "Any" if encoded_dtype == BOOL else "Max", encoded, [1 if inputs.rank > 1 else 0])


# Elements put at positions

SCATTERS = {
    None: "TensorScatterUpdate",
    "add": "TensorScatterAdd",
    "max": "TensorScatterMax",
    "min": "TensorScatterMin",
}


@layer("ops.SliceUpdate")
def slice_update(b: LayerBuilder, inputs: LayerTensor, start_indices: Any, updates: Any) -> LayerTensor:
    """The tensor with a slice replaced; an update that reaches beyond the end is moved back."""
    (update,) = tensors_of(b, updates)
    if not isinstance(start_indices, LayerTensor) or start_indices.rank != 1:
        start_indices = stack(b, [b.cast(index, INT32) for index in tensors_of(b, *start_indices)])
    room = b.Sub(_shape(b, inputs), _shape(b, update))
    before = b.Maximum(b.Minimum(b.cast(start_indices, INT32), room), 0)
    paddings = stack(b, [before, b.Sub(room, before)], 1)
    moved = b.tensor(b.node("Pad", b.cast(update, inputs.dtype), paddings), inputs.shape)
    here = b.tensor(b.node("Pad", b.OnesLike(b.cast(update, INT32)), paddings), inputs.shape)
    return b.Select(b.cast(here, BOOL), moved, inputs)


def _shape(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.Shape(x, out_type=INT32)


@layer("ops.ScatterUpdate")
def scatter_update(
    b: LayerBuilder, inputs: LayerTensor, indices: Any, updates: Any, *, reduction: str | None = None
) -> LayerTensor:
    if reduction not in SCATTERS:
        raise b.refuse(f"it scatters with the reduction `{reduction}`, which tfport does not do")
    positions, update = tensors_of(b, indices, updates)
    return b.tensor(b.node(SCATTERS[reduction], inputs, positions, update), inputs.shape)


@layer("ops.Scatter")
def scatter(b: LayerBuilder, indices: Any, values: Any, *, shape: Sequence[int]) -> LayerTensor:
    positions, elements = tensors_of(b, indices, values)
    target = b.constant(list(shape), positions.dtype)
    return b.tensor(b.node("ScatterNd", positions, elements, target), shape)


@layer("ops.SegmentSum ops.SegmentMax ops.SegmentMin ops.SegmentProd")
def segment(
    b: LayerBuilder,
    data: LayerTensor,
    segment_ids: LayerTensor,
    *,
    num_segments: int | None = None,
    sorted: bool = False,
) -> LayerTensor:
    """One result for each segment; how many there are follows from the identifiers unless it is stated."""
    op = b.instance.config.class_name
    rest = data.shape[segment_ids.rank :]
    if sorted:
        return b.tensor(b.node(op, data, segment_ids), (None, *rest))
    count: Any = num_segments
    if count is None and op == "SegmentSum":
        unique = b.node("Unique", segment_ids, out_idx=INT32)
        count = sizes(b, b.tensor(unique, (None,)))[0]
    elif count is None:
        highest = reduce(b, "Max", segment_ids, range(segment_ids.rank))
        count = b.cast(b.Add(highest, b.constant(1, highest.dtype)), INT32)
    return b.tensor(b.node(f"Unsorted{op}", data, segment_ids, count), (num_segments, *rest))


@layer("ops.Full")
def full(b: LayerBuilder, fill_value: Any, *, shape: Sequence[int], dtype: str | None = None) -> LayerTensor:
    (value,) = tensors_of(b, fill_value)
    value = b.cast(value, DType.parse(dtype)) if dtype else value
    return b.tensor(b.node("Fill", shape_vector(b, shape), value), shape)
