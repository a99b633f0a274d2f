"""Operations that move and copy elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.formats.keras.records import Json
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import promoted
from tfport.frontends.keras.rearranging import (
    broadcast,
    padded,
    repeated,
    reshaped,
    rolled,
    split_at,
    squeezed,
    tiled,
    transposed,
    unstacked,
)
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import concat, expand_dims, reshape, reverse, split, stack, transpose
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import DType


@layer("ops.Reshape")
def reshape_operation(b: LayerBuilder, x: LayerTensor, *, newshape: Any) -> LayerTensor:
    return reshaped(b, x, plain(newshape))


@layer("ops.Transpose")
def transpose_operation(b: LayerBuilder, x: LayerTensor, *, axes: Any = None) -> LayerTensor:
    return transposed(b, x, plain(axes))


@layer("ops.Swapaxes")
def swap_axes(b: LayerBuilder, x: LayerTensor, *, axis1: int, axis2: int) -> LayerTensor:
    order = list(range(x.rank))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(b, x, order)


@layer("ops.Moveaxis")
def move_axis(b: LayerBuilder, x: LayerTensor, *, source: Any, destination: Any) -> LayerTensor:
    sources, targets = (_axes(axes, x.rank) for axes in (source, destination))
    order = [axis for axis in range(x.rank) if axis not in sources]
    for target, axis in sorted(zip(targets, sources, strict=True)):
        order.insert(target, axis)
    return transpose(b, x, order)


@layer("ops.ExpandDims")
def expand_dims_operation(b: LayerBuilder, x: LayerTensor, *, axis: Any) -> LayerTensor:
    axes = plain(axis)
    if isinstance(axes, int):
        return expand_dims(b, x, axes)
    for index in sorted(a % (x.rank + len(axes)) for a in axes):
        x = expand_dims(b, x, index)
    return x


@layer("ops.Squeeze")
def squeeze_operation(b: LayerBuilder, x: LayerTensor, *, axis: Any = None) -> LayerTensor:
    return squeezed(b, x, plain(axis))


@layer("ops.Concatenate")
def concatenate(b: LayerBuilder, xs: Sequence[LayerTensor], *, axis: int = 0) -> LayerTensor:
    return concat(b, promoted(b, *xs), axis)


@layer("ops.Stack")
def stack_operation(b: LayerBuilder, x: Sequence[LayerTensor], *, axis: int = 0) -> LayerTensor:
    return stack(b, promoted(b, *x), axis)


@layer("ops.Vstack ops.Hstack ops.Dstack")
def stack_named(b: LayerBuilder, xs: Sequence[LayerTensor]) -> LayerTensor:
    name, tensors = b.instance.config.class_name, promoted(b, *xs)
    if min(x.rank for x in tensors) < (3 if name == "Dstack" else 2):
        raise b.refuse("it joins tensors of too low a rank")
    return concat(b, tensors, {"Vstack": 0, "Hstack": 1, "Dstack": 2}[name])


@layer("ops.Append")
def append(b: LayerBuilder, x1: LayerTensor, x2: LayerTensor, *, axis: int | None = None) -> LayerTensor:
    tensors = promoted(b, x1, x2)
    if axis is None:
        return concat(b, [reshape(b, x, (None,)) for x in tensors], 0)
    return concat(b, tensors, axis)


@layer("ops.Split ops.ArraySplit")
def split_operation(
    b: LayerBuilder, x: LayerTensor, *, indices_or_sections: Any, axis: int = 0
) -> Sequence[LayerTensor]:
    parts, size = plain(indices_or_sections), x.shape[axis]
    if not isinstance(parts, int):
        return split_at(b, x, parts, axis)
    if size is not None and size % parts:  # np.array_split: the first parts have one more
        bounds = np.cumsum([size // parts + (i < size % parts) for i in range(parts)])[:-1]
        return split_at(b, x, [int(bound) for bound in bounds], axis)
    return split(b, x, parts, axis)


@layer("ops.Vsplit ops.Hsplit ops.Dsplit")
def split_named(b: LayerBuilder, x: LayerTensor, *, indices_or_sections: Any) -> Sequence[LayerTensor]:
    axis = {"Vsplit": 0, "Hsplit": min(1, x.rank - 1), "Dsplit": 2}[b.instance.config.class_name]
    return split_operation(b, x, indices_or_sections=indices_or_sections, axis=axis)


@layer("ops.Unstack")
def unstack(
    b: LayerBuilder, x: LayerTensor, *, num: int | None = None, axis: int = 0
) -> Sequence[LayerTensor]:
    return unstacked(b, x, axis, num)


@layer("ops.Tile")
def tile(b: LayerBuilder, x: LayerTensor, *, repeats: Any) -> LayerTensor:
    return tiled(b, x, plain(repeats))


@layer("ops.Repeat")
def repeat(b: LayerBuilder, x: LayerTensor, *, repeats: Any, axis: int | None = None) -> LayerTensor:
    return repeated(b, x, plain(repeats), axis)


@layer("ops.BroadcastTo")
def broadcast_to(b: LayerBuilder, x: LayerTensor, *, shape: Any) -> LayerTensor:
    return broadcast(b, x, plain(shape))


@layer("ops.Pad")
def pad_operation(
    b: LayerBuilder, x: LayerTensor, constant_values: Any = None, *, pad_width: Any, mode: str = "constant"
) -> LayerTensor:
    pairs = plain(pad_width)
    if isinstance(pairs, int):
        pairs = [(pairs, pairs)] * x.rank
    elif isinstance(pairs[0], int):
        pairs = [pairs if len(pairs) == 2 else pairs * 2] * x.rank
    elif len(pairs) == 1:
        pairs = list(pairs) * x.rank
    return padded(b, x, pairs, mode, constant_values)


@layer("ops.Flip ops.Fliplr ops.Flipud")
def flip(b: LayerBuilder, x: LayerTensor, *, axis: Any = None) -> LayerTensor:
    named = {"Fliplr": [1], "Flipud": [0]}.get(b.instance.config.class_name)
    axes = named if named is not None else range(x.rank) if axis is None else _axes(axis, x.rank)
    return reverse(b, x, *axes)


@layer("ops.Roll")
def roll(b: LayerBuilder, x: LayerTensor, *, shift: Any, axis: Any = None) -> LayerTensor:
    if axis is None:
        flat = rolled(b, reshape(b, x, (None,)), plain(shift), 0)
        return b.tensor(reshape(b, flat, sizes(b, x)).value, x.shape)
    axes, shifts = _axes(axis, x.rank), plain(shift)
    shifts = [shifts] * len(axes) if isinstance(shifts, int) else shifts
    for index, amount in zip(axes, shifts, strict=True):
        x = rolled(b, x, amount, index)
    return x


@layer("ops.Ravel")
def ravel(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    return reshape(b, x, (None,))


@layer("ops.ConvertToTensor ops.Array")
def convert(
    b: LayerBuilder, x: Any, *, dtype: str | None = None, sparse: Json = None, ragged: Json = None
) -> LayerTensor:
    tensor = x if isinstance(x, LayerTensor) else b.constant(x)
    return b.cast(tensor, DType.parse(dtype)) if dtype else tensor


def _axes(axis: Any, rank: int) -> list[int]:
    axes = plain(axis)
    return [a % rank for a in ([axes] if isinstance(axes, int) else axes)]


def plain(value: Any) -> Any:
    """A number or list of numbers of a configuration, where tuples may be stored as objects."""
    if isinstance(value, dict) and value.get("class_name") == "__tuple__":
        value = value.get("items")
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value
