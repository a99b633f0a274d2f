"""Split, repeat, reverse, pad and pick elements of tensors, with their shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerSize, LayerTensor
from tfport.graph.building.arrays import (
    concat,
    expand_dims,
    gather,
    pad,
    reshape,
    slice_axis,
    split,
    squeeze,
    transpose,
    zeros,
)
from tfport.graph.building.sizes import shape_vector, sizes
from tfport.graph.dtypes import INT32, DType


def reshaped(b: LayerBuilder, x: LayerTensor, shape: Any) -> LayerTensor:
    """The tensor in a shape whose sizes are numbers, computed scalars, -1 or None."""
    if isinstance(shape, LayerTensor):
        rank = shape.shape[0]
        if rank is None:
            raise b.refuse("it reshapes to a shape whose length is unknown")
        return b.tensor(b.node("Reshape", x, shape), (None,) * rank)
    dims: list[LayerSize] = [None if size == -1 else size for size in _sizes(shape)]
    if dims.count(None) > 1 and dims[0] is None:  # Keras 3 writes None for the size of the batch
        dims[0] = sizes(b, x)[0]
    return reshape(b, x, dims)


def _sizes(shape: Any) -> list[Any]:
    return list(shape) if isinstance(shape, list | tuple) else [shape]


def transposed(b: LayerBuilder, x: LayerTensor, order: Sequence[int] | None) -> LayerTensor:
    """The tensor with its axes in an order; reversed without one."""
    axes = [axis % x.rank for axis in order] if order is not None else list(reversed(range(x.rank)))
    return transpose(b, x, axes)


def squeezed(b: LayerBuilder, x: LayerTensor, axis: int | Sequence[int] | None) -> LayerTensor:
    """The tensor without axes of size 1: these, or all that are known to be."""
    if axis is None or axis == []:
        axes = [i for i, size in enumerate(x.shape) if size == 1]
        if None in x.shape:
            raise b.refuse("it removes all axes of size 1, and some sizes are unknown")
    else:
        axes = [a % x.rank for a in ([axis] if isinstance(axis, int) else axis)]
    for index in sorted(axes, reverse=True):
        x = squeeze(b, x, index)
    return x


def split_sizes(b: LayerBuilder, x: LayerTensor, lengths: Sequence[int], axis: int) -> list[LayerTensor]:
    """Parts of these sizes of an axis; one may be -1 for the rest."""
    axis, size, lengths = axis % x.rank, x.shape[axis % x.rank], list(lengths)
    if -1 in lengths and size is not None:
        lengths[lengths.index(-1)] = size - sum(n for n in lengths if n >= 0)
    return b.results(b.node("SplitV", x, lengths, axis, num_split=len(lengths), Tlen=INT32))


def split_at(b: LayerBuilder, x: LayerTensor, positions: Sequence[int], axis: int) -> list[LayerTensor]:
    """The parts between positions of an axis, as NumPy splits."""
    bounds = [None, *positions, None]
    return [slice_axis(b, x, axis, bounds[i], bounds[i + 1]) for i in range(len(positions) + 1)]


def unstacked(b: LayerBuilder, x: LayerTensor, axis: int, count: int | None) -> list[LayerTensor]:
    """The slices along an axis, without it."""
    number = x.shape[axis % x.rank] if count is None else count
    if number is None:
        raise b.refuse("it unstacks an axis of unknown size")
    return split(b, x, number, axis, drop=True)


def tiled(b: LayerBuilder, x: LayerTensor, repeats: Any) -> LayerTensor:
    """Copies of a tensor along its axes; NumPy adds axes where there are more repeats."""
    if isinstance(repeats, LayerTensor):
        return b.Tile(x, repeats)
    counts = _sizes(repeats)
    for _ in range(len(counts) - x.rank):
        x = expand_dims(b, x, 0)
    counts = [1] * (x.rank - len(counts)) + counts
    return b.Tile(x, shape_vector(b, counts))


def repeated(b: LayerBuilder, x: LayerTensor, repeats: Any, axis: int | None) -> LayerTensor:
    """Each element of an axis several times."""
    if axis is None:
        x, axis = reshape(b, x, (None,)), 0
    axis = axis % x.rank
    if isinstance(repeats, list | tuple) and len(repeats) == 1:
        repeats = repeats[0]
    if not isinstance(repeats, int):
        if isinstance(repeats, LayerTensor):
            raise b.refuse("it repeats elements a computed number of times")
        indices = [i for i, count in enumerate(repeats) for _ in range(count)]
        return gather(b, x, b.constant(indices, INT32), axis)
    inner = expand_dims(b, x, axis + 1)
    multiples = [1] * inner.rank
    multiples[axis + 1] = repeats
    copies = b.Tile(inner, multiples)
    size = x.shape[axis]
    known = (*x.shape[:axis], None if size is None else size * repeats, *x.shape[axis + 1 :])
    dims: list[LayerSize] = list(known if known.count(None) < 2 else sizes(b, x))
    dims[axis] = known[axis]
    return b.tensor(reshape(b, copies, dims).value, known)


def rolled(b: LayerBuilder, x: LayerTensor, shift: int, axis: int) -> LayerTensor:
    """Elements moved along an axis; those beyond its end come first."""
    if shift == 0:
        return x
    return concat(b, [slice_axis(b, x, axis, -shift, None), slice_axis(b, x, axis, None, -shift)], axis)


def broadcast(b: LayerBuilder, x: LayerTensor, shape: Sequence[LayerSize]) -> LayerTensor:
    """The tensor repeated to a shape."""
    dims = [None if size == -1 else size for size in shape]
    if None in dims:
        raise b.refuse("it broadcasts to a shape with unknown sizes")
    if x.dtype.is_floating or x.dtype.is_integer:
        return b.Add(x, zeros(b, dims, x.dtype))
    known = [size if isinstance(size, int) else None for size in dims]
    return b.tensor(b.node("BroadcastTo", x, shape_vector(b, dims)), known)


def padded(
    b: LayerBuilder, x: LayerTensor, paddings: Sequence[Sequence[int]], mode: str, value: Any
) -> LayerTensor:
    """Elements before and after each axis: constant, or those nearby (`reflect`, `symmetric`)."""
    pairs = [(int(pair[0]), int(pair[1])) for pair in paddings]
    if mode.lower() == "constant":
        return pad(b, x, pairs, value or 0.0)
    if mode.lower() not in ("reflect", "symmetric"):
        raise b.refuse(f"it pads in the mode `{mode}`, which tfport does not do")
    return b.MirrorPad(x, [list(pair) for pair in pairs], mode=mode.upper())


def one_hot(
    b: LayerBuilder, x: LayerTensor, depth: int, axis: int, dtype: DType, values: Sequence[Any] = (1, 0)
) -> LayerTensor:
    """A new axis with one element that differs, at the position that each integer names."""
    position = axis % (x.rank + 1)
    on, off = (b.constant(value, dtype) for value in values)
    index = x if str(x.dtype) in ("uint8", "int32", "int64") else b.cast(x, INT32)
    return b.OneHot(index, depth, on, off, axis=-1 if position == x.rank else position)


def cumulative(b: LayerBuilder, op: str, x: LayerTensor, axis: int | None, **attrs: bool) -> LayerTensor:
    """`Cumsum` or `Cumprod` along an axis, or over all elements."""
    if axis is None:
        x, axis = reshape(b, x, (None,)), 0
    return b.result(op, x, axis % x.rank, **attrs)
