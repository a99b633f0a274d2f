"""Functions that move, copy and pick elements, and shapes as tensors."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.indexing import get_item, index_key
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.layers.tensorflow.function import tensors_of, tf_function
from tfport.frontends.keras.rearranging import (
    broadcast,
    one_hot,
    padded,
    repeated,
    reshaped,
    rolled,
    split_sizes,
    squeezed,
    tiled,
    transposed,
    unstacked,
)
from tfport.frontends.keras.reductions import axes_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, expand_dims, gather, reverse, split, stack
from tfport.graph.dtypes import FLOAT32, INT32, DType


@tf_function("reshape")
def reshape_function(b: LayerBuilder, tensor: LayerTensor, shape: Any) -> LayerTensor:
    return reshaped(b, tensor, shape)


@tf_function("transpose compat.v1.transpose")
def transpose_function(
    b: LayerBuilder, a: LayerTensor, perm: Any = None, conjugate: bool = False
) -> LayerTensor:
    return transposed(b, a, perm)


@tf_function("expand_dims compat.v1.expand_dims")
def expand_dims_function(
    b: LayerBuilder, input: LayerTensor, axis: int | None = None, dim: int | None = None
) -> LayerTensor:
    chosen = dim if axis is None else axis
    if chosen is None:
        raise b.refuse("the argument `axis` of its call is missing")
    return expand_dims(b, input, chosen)


@tf_function("squeeze compat.v1.squeeze")
def squeeze_function(
    b: LayerBuilder, input: LayerTensor, axis: Any = None, squeeze_dims: Any = None
) -> LayerTensor:
    return squeezed(b, input, squeeze_dims if axis is None else axis)


@tf_function("concat")
def concat_function(b: LayerBuilder, values: Any, axis: int) -> LayerTensor:
    return concat(b, tensors_of(b, values), axis)


@tf_function("stack")
def stack_function(b: LayerBuilder, values: Any, axis: int = 0) -> LayerTensor:
    return stack(b, tensors_of(b, values), axis)


@tf_function("unstack")
def unstack(b: LayerBuilder, value: LayerTensor, num: int | None = None, axis: int = 0) -> list[LayerTensor]:
    return unstacked(b, value, axis, num)


@tf_function("split")
def split_function(
    b: LayerBuilder, value: LayerTensor, num_or_size_splits: Any, axis: int = 0, num: Any = None
) -> list[LayerTensor]:
    if isinstance(num_or_size_splits, int):
        return split(b, value, num_or_size_splits, axis)
    return split_sizes(b, value, num_or_size_splits, axis)


@tf_function("tile")
def tile(b: LayerBuilder, input: LayerTensor, multiples: Any) -> LayerTensor:
    return tiled(b, input, multiples)


@tf_function("repeat")
def repeat(b: LayerBuilder, input: LayerTensor, repeats: Any, axis: int | None = None) -> LayerTensor:
    return repeated(b, input, repeats, axis)


@tf_function("broadcast_to")
def broadcast_to(b: LayerBuilder, input: LayerTensor, shape: Any) -> LayerTensor:
    if isinstance(shape, LayerTensor):
        if shape.shape[0] is None:
            raise b.refuse("it broadcasts to a shape whose length is unknown")
        return b.tensor(b.node("BroadcastTo", input, shape), (None,) * shape.shape[0])
    return broadcast(b, input, shape)


@tf_function("reverse compat.v1.reverse_v2")
def reverse_function(b: LayerBuilder, tensor: LayerTensor, axis: Any) -> LayerTensor:
    return reverse(b, tensor, *axes_of(tensor, axis))


@tf_function("roll")
def roll(b: LayerBuilder, input: LayerTensor, shift: Any, axis: Any) -> LayerTensor:
    shifts = [shift] if isinstance(shift, int) else shift
    for index, amount in zip(axes_of(input, axis), shifts, strict=True):
        input = rolled(b, input, amount, index)
    return input


@tf_function("pad compat.v1.pad")
def pad(
    b: LayerBuilder, tensor: LayerTensor, paddings: Any, mode: str = "CONSTANT", constant_values: Any = 0
) -> LayerTensor:
    return padded(b, tensor, paddings, mode, constant_values)


@tf_function("gather compat.v1.gather")
def gather_function(
    b: LayerBuilder,
    params: LayerTensor,
    indices: Any,
    validate_indices: Any = None,
    axis: int | None = None,
    batch_dims: int = 0,
) -> LayerTensor:
    if batch_dims:
        raise b.refuse("it gathers with batch dimensions, which tfport does not do")
    positions = indices if isinstance(indices, LayerTensor) else b.constant(indices, INT32)
    return gather(b, params, positions, axis or 0)


@tf_function("gather_nd compat.v1.gather_nd")
def gather_nd(b: LayerBuilder, params: LayerTensor, indices: Any, batch_dims: int = 0) -> LayerTensor:
    positions = indices if isinstance(indices, LayerTensor) else b.constant(indices, INT32)
    depth = positions.shape[-1]
    if batch_dims or depth is None:
        raise b.refuse("it gathers with batch dimensions or an unknown depth, which tfport does not do")
    return b.GatherNd(params, positions)


@tf_function("one_hot")
def one_hot_function(
    b: LayerBuilder,
    indices: LayerTensor,
    depth: int,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: str | None = None,
) -> LayerTensor:
    values = (1 if on_value is None else on_value, 0 if off_value is None else off_value)
    target = DType.parse(dtype) if dtype else FLOAT32
    return one_hot(b, indices, depth, -1 if axis is None else axis, target, values)


@tf_function("shape compat.v1.shape")
def shape(b: LayerBuilder, input: LayerTensor, out_type: str = "int32") -> LayerTensor:
    return b.Shape(input, out_type=DType.parse(out_type))


@tf_function("size compat.v1.size")
def size(b: LayerBuilder, input: LayerTensor, out_type: str = "int32") -> LayerTensor:
    return b.Size(input, out_type=DType.parse(out_type))


@tf_function("rank compat.v1.rank")
def rank(b: LayerBuilder, input: LayerTensor) -> LayerTensor:
    return b.constant(input.rank, INT32)


@tf_function("range")
def range_function(
    b: LayerBuilder, start: Any, limit: Any = None, delta: Any = 1, dtype: str | None = None
) -> LayerTensor:
    first, last = (0, start) if limit is None else (start, limit)
    tensors = [x for x in (first, last, delta) if isinstance(x, LayerTensor)]
    target = DType.parse(dtype) if dtype else tensors[0].dtype if tensors else INT32
    operands = [
        b.cast(x, target) if isinstance(x, LayerTensor) else b.constant(x, target)
        for x in (first, last, delta)
    ]
    return b.tensor(b.node("Range", *operands), (None,))


@tf_function("fill")
def fill(b: LayerBuilder, dims: Any, value: Any) -> LayerTensor:
    if isinstance(dims, LayerTensor):
        if dims.shape[0] is None:
            raise b.refuse("it fills a shape whose length is unknown")
        return b.tensor(b.node("Fill", dims, value), (None,) * dims.shape[0])
    scalar = value if isinstance(value, LayerTensor) else b.constant(value)
    return broadcast(b, scalar, dims)


@tf_function("__operators__.getitem")
def getitem(b: LayerBuilder, tensor: LayerTensor, slice_spec: Any, var: Any = None) -> LayerTensor:
    return get_item(b, tensor, index_key(b, slice_spec))
