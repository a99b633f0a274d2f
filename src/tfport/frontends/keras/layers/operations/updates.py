"""Operations that put elements at positions: updates of slices, scattering, sums of segments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.frontends.keras.arrays import reduce, shape_vector, sizes, stack
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import tensors_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.dtypes import BOOL, INT32, DType

SCATTERS = {
    None: "TensorScatterUpdate",
    "add": "TensorScatterAdd",
    "max": "TensorScatterMax",
    "min": "TensorScatterMin",
}


@layer("ops.SliceUpdate")
def slice_update(b: LayerBuilder, inputs: LayerTensor, start_indices: Any, updates: Any) -> LayerTensor:
    """The tensor with other elements in one place; an update that reaches beyond the end is moved back."""
    (update,) = tensors_of(b, updates)
    if not isinstance(start_indices, LayerTensor) or start_indices.rank != 1:
        start_indices = stack(b, [b.cast(index, INT32) for index in tensors_of(b, *start_indices)])
    room = b.Sub(_shape(b, inputs), _shape(b, update))
    before = b.Maximum(b.Minimum(b.cast(start_indices, INT32), room), 0)
    paddings = stack(b, [before, b.Sub(room, before)], 1)
    moved = b.tensor(b.node("Pad", b.cast(update, inputs.dtype), paddings), inputs.shape)
    here = b.tensor(b.node("Pad", b.OnesLike(b.cast(update, INT32)), paddings), inputs.shape)
    return b.tensor(b.node("Select", b.cast(here, BOOL), moved, inputs), inputs.shape)


def _shape(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return b.tensor(b.node("Shape", x, out_type=INT32), (x.rank,))


@layer("ops.ScatterUpdate")
def scatter_update(
    b: LayerBuilder, inputs: LayerTensor, indices: Any, updates: Any, *, reduction: str | None = None
) -> LayerTensor:
    if reduction not in SCATTERS:
        raise b.refuse(f"it scatters with the reduction `{reduction}`, which tfport does not do")
    places, update = tensors_of(b, indices, updates)
    return b.tensor(b.node(SCATTERS[reduction], inputs, places, update), inputs.shape)


@layer("ops.Scatter")
def scatter(b: LayerBuilder, indices: Any, values: Any, *, shape: Sequence[int]) -> LayerTensor:
    places, elements = tensors_of(b, indices, values)
    target = b.constant(list(shape), places.dtype)
    return b.tensor(b.node("ScatterNd", places, elements, target), shape)


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
