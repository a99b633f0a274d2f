"""Reshape, join, slice and reduce tensors, with their shapes. Unknown sizes are computed in runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import Dims, LayerTensor, broadcast_dims
from tfport.graph.dtypes import INT32, DType

Size = int | LayerTensor | None
"""A size: known, computed (a scalar), or None for the one that follows from the others."""


def sizes(b: LayerBuilder, x: LayerTensor) -> list[int | LayerTensor]:
    """Each size of a tensor: a number, or a scalar that is computed."""
    if None not in x.shape:
        return [size for size in x.shape if size is not None]
    shape = b.tensor(b.node("Shape", x, out_type=INT32), (x.rank,))
    return [item(b, shape, i) if size is None else size for i, size in enumerate(x.shape)]


def item(b: LayerBuilder, vector: LayerTensor, place: int) -> LayerTensor:
    """One element of a vector, as a scalar."""
    return b.tensor(b.node("StridedSlice", vector, [place], [place + 1], [1], shrink_axis_mask=1), ())


def shape_vector(b: LayerBuilder, dims: Sequence[Size]) -> Any:
    """A shape for ops that take one: a list of numbers, or a computed vector; None is -1."""
    if not any(isinstance(size, LayerTensor) for size in dims):
        return [-1 if size is None else size for size in dims]
    return b.node("Pack", [b.constant(-1) if size is None else size for size in dims], T=INT32, axis=0)


def reshape(b: LayerBuilder, x: LayerTensor, dims: Sequence[Size]) -> LayerTensor:
    """The tensor in another shape; at most one size is None."""
    known = [size if isinstance(size, int) else None for size in dims]
    if dims.count(None) == 1 and None not in x.shape and all(isinstance(s, int) or s is None for s in dims):
        known[list(dims).index(None)] = _product(x.shape) // max(1, _product(known))
    return b.tensor(b.node("Reshape", x, shape_vector(b, dims)), known)


def _product(dims: Sequence[int | None]) -> int:
    product = 1
    for size in dims:
        product *= 1 if size is None else size
    return product


def transpose(b: LayerBuilder, x: LayerTensor, order: Sequence[int]) -> LayerTensor:
    if list(order) == list(range(x.rank)):
        return x
    return b.tensor(b.node("Transpose", x, list(order)), [x.shape[axis] for axis in order])


def concat(b: LayerBuilder, tensors: Sequence[LayerTensor], axis: int) -> LayerTensor:
    first, axis = tensors[0], axis % tensors[0].rank
    joined = [x.shape[axis] for x in tensors]
    dims = [next((x.shape[i] for x in tensors if x.shape[i] is not None), None) for i in range(first.rank)]
    dims[axis] = None if None in joined else sum(size for size in joined if size is not None)
    return b.tensor(b.node("ConcatV2", list(tensors), axis), dims)


def split(b: LayerBuilder, x: LayerTensor, count: int, axis: int, *, drop: bool = False) -> list[LayerTensor]:
    """Equal parts along an axis; `drop` removes the axis from parts of size 1."""
    axis = axis % x.rank
    size = x.shape[axis]
    if drop:
        node = b.node("Unpack", x, num=count, axis=axis)
        dims = (*x.shape[:axis], *x.shape[axis + 1 :])
    else:
        node = b.node("Split", axis, x, num_split=count)
        dims = (*x.shape[:axis], None if size is None else size // count, *x.shape[axis + 1 :])
    return [b.tensor(node.output(place), dims) for place in range(count)]


def reverse(b: LayerBuilder, x: LayerTensor, axis: int) -> LayerTensor:
    return b.tensor(b.node("ReverseV2", x, [axis % x.rank]), x.shape)


def scaled(b: LayerBuilder, size: Size, factor: int) -> Size:
    """A size times a number."""
    if isinstance(size, LayerTensor):
        return b.Mul(size, factor)
    return None if size is None else size * factor


def expand_dims(b: LayerBuilder, x: LayerTensor, axis: int) -> LayerTensor:
    axis = axis % (x.rank + 1)
    return b.tensor(b.node("ExpandDims", x, axis), (*x.shape[:axis], 1, *x.shape[axis:]))


def squeeze(b: LayerBuilder, x: LayerTensor, axis: int) -> LayerTensor:
    axis = axis % x.rank
    return b.tensor(b.node("Squeeze", x, squeeze_dims=[axis]), (*x.shape[:axis], *x.shape[axis + 1 :]))


def stack(b: LayerBuilder, tensors: Sequence[LayerTensor], axis: int = 0) -> LayerTensor:
    axis = axis % (tensors[0].rank + 1)
    dims = tensors[0].shape
    return b.tensor(b.node("Pack", list(tensors), axis=axis), (*dims[:axis], len(tensors), *dims[axis:]))


def slice_axis(
    b: LayerBuilder, x: LayerTensor, axis: int, start: int | None, stop: int | None
) -> LayerTensor:
    """A range of one axis; negative positions count from its end."""
    axis = axis % x.rank
    size = x.shape[axis]
    begins, ends = [0] * (axis + 1), [0] * (axis + 1)
    begins[axis], ends[axis] = start or 0, stop or 0
    others = (1 << axis) - 1
    node = b.node(
        "StridedSlice", x, begins, ends, [1] * (axis + 1),
        begin_mask=others | (int(start is None) << axis), end_mask=others | (int(stop is None) << axis),
    )  # fmt: skip
    length = None if size is None else len(range(size)[start:stop])
    return b.tensor(node, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def reduce(
    b: LayerBuilder, op: str, x: LayerTensor, axes: Sequence[int], *, keep: bool = False
) -> LayerTensor:
    """`Sum`, `Mean`, `Max`, `Min`, `Prod`, `All` or `Any` over axes."""
    places = sorted(axis % x.rank for axis in axes)
    dims = [1 if i in places else size for i, size in enumerate(x.shape) if keep or i not in places]
    return b.tensor(b.node(op, x, places, keep_dims=keep), dims)


def pad(
    b: LayerBuilder, x: LayerTensor, paddings: Sequence[tuple[int, int]], value: float = 0.0
) -> LayerTensor:
    """Add constant elements before and after each axis."""
    if not any(before or after for before, after in paddings):
        return x
    dims = [
        None if size is None else size + before + after
        for size, (before, after) in zip(x.shape, paddings, strict=True)
    ]
    if value == 0.0:
        return b.tensor(b.node("Pad", x, [list(pair) for pair in paddings]), dims)
    return b.tensor(b.node("PadV2", x, [list(pair) for pair in paddings], value), dims)


def matmul(b: LayerBuilder, x: LayerTensor, matrix: LayerTensor) -> LayerTensor:
    """The product over the last axis of a tensor of any rank with a matrix."""
    if x.rank == 2:
        return b.tensor(b.node("MatMul", x, matrix), (x.shape[0], matrix.shape[1]))
    rows = reshape(b, x, (None, x.shape[-1]))
    product = b.tensor(b.node("MatMul", rows, matrix), (rows.shape[0], matrix.shape[1]))
    outer = x.shape[:-1]
    if outer.count(None) <= 1:
        return reshape(b, product, (*outer, matrix.shape[1]))
    return _with_shape(reshape(b, product, (*sizes(b, x)[:-1], matrix.shape[1])), (*outer, matrix.shape[1]))


def batch_matmul(
    b: LayerBuilder, x: LayerTensor, y: LayerTensor, *, adj_x: bool = False, adj_y: bool = False
) -> LayerTensor:
    """The products of the matrices in the last two axes."""
    rows = x.shape[-1] if adj_x else x.shape[-2]
    columns = y.shape[-2] if adj_y else y.shape[-1]
    outer = broadcast_dims(x.shape[:-2], y.shape[:-2])
    op = "BatchMatMul" if x.shape[:-2] == y.shape[:-2] else "BatchMatMulV2"
    return b.tensor(b.node(op, x, y, adj_x=adj_x, adj_y=adj_y), (*outer, rows, columns))


def _with_shape(x: LayerTensor, dims: Dims) -> LayerTensor:
    return LayerTensor(x.value, dims, x.mask)


def gather(b: LayerBuilder, params: LayerTensor, indices: LayerTensor, axis: int = 0) -> LayerTensor:
    """The slices of `params` at `indices` of an axis."""
    axis = axis % params.rank
    dims = (*params.shape[:axis], *indices.shape, *params.shape[axis + 1 :])
    return b.tensor(b.node("GatherV2", params, indices, axis), dims)


def select(b: LayerBuilder, condition: LayerTensor, x: LayerTensor, y: LayerTensor) -> LayerTensor:
    """Elements of `x` where the condition holds, else of `y`; all broadcast."""
    dims = broadcast_dims(condition.shape, broadcast_dims(x.shape, y.shape))
    op = "Select" if condition.shape == x.shape == y.shape else "SelectV2"
    return b.tensor(b.node(op, condition, x, y), dims)


def positions(b: LayerBuilder, count: int | LayerTensor) -> LayerTensor:
    """The numbers from 0 to below a size, as int32."""
    known = count if isinstance(count, int) else None
    return b.tensor(b.node("Range", b.constant(0), count, b.constant(1), Tidx=INT32), (known,))


def zeros(b: LayerBuilder, dims: Sequence[Size], dtype: DType) -> LayerTensor:
    """Zeros of a shape that may be computed."""
    known = [size if isinstance(size, int) else None for size in dims]
    return b.tensor(b.node("Fill", shape_vector(b, dims), b.constant(0, dtype)), known)
