"""Reshape, join, slice, reduce and multiply tensors, with their shapes. Unknown sizes are computed in runs.

Functions that depend on the rank refuse a tensor of unknown rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfport.graph.building.node_builder import Dims, NodeBuilder, T
from tfport.graph.building.sizes import Size, known_dims, shape_vector, sizes
from tfport.graph.dtypes import DType
from tfport.graph.op_facts.rule import ShapeConflict, broadcast


def reshape(b: NodeBuilder[T], x: T, dims: Sequence[Size]) -> T:
    """The tensor in another shape; at most one size is None."""
    own, known = b.shape(x), [size if isinstance(size, int) else None for size in dims]
    if own is not None and None not in own and known.count(None) == 1 and None in dims:
        rest = math.prod(size for size in known if size is not None)
        known[known.index(None)] = math.prod(own) // max(1, rest)  # type: ignore[arg-type]
    return b.tensor(b.node("Reshape", x, shape_vector(b, dims)), known)


def transpose(b: NodeBuilder[T], x: T, order: Sequence[int]) -> T:
    """The tensor with its axes in an order; itself if they are."""
    if list(order) == list(range(len(order))):
        return x
    own = b.shape(x)
    return b.tensor(b.node("Transpose", x, list(order)), own and [own[axis] for axis in order])


def concat(b: NodeBuilder[T], tensors: Sequence[T], axis: int) -> T:
    shapes = [known_dims(b, x) for x in tensors]
    axis = axis % len(shapes[0])
    dims = [next((size for size in column if size is not None), None) for column in zip(*shapes, strict=True)]
    joined = [shape[axis] for shape in shapes]
    dims[axis] = None if None in joined else sum(size for size in joined if size is not None)
    return b.tensor(b.node("ConcatV2", list(tensors), axis), dims)


def split(b: NodeBuilder[T], x: T, count: int, axis: int, *, drop: bool = False) -> list[T]:
    """Equal parts along an axis; `drop` removes the axis from parts of size 1."""
    own = known_dims(b, x)
    axis = axis % len(own)
    size = own[axis]
    if drop:
        node = b.node("Unpack", x, num=count, axis=axis)
        dims = without_axis(own, axis)
    else:
        node = b.node("Split", axis, x, num_split=count)
        dims = with_size(own, axis, None if size is None else size // count)
    return [b.tensor(node.output(index), dims) for index in range(count)]


def reverse(b: NodeBuilder[T], x: T, axis: int) -> T:
    own = known_dims(b, x)
    return b.tensor(b.node("ReverseV2", x, [axis % len(own)]), own)


def expand_dims(b: NodeBuilder[T], x: T, axis: int) -> T:
    own = known_dims(b, x)
    axis = axis % (len(own) + 1)
    return b.tensor(b.node("ExpandDims", x, axis), (*own[:axis], 1, *own[axis:]))


def squeeze(b: NodeBuilder[T], x: T, axis: int) -> T:
    own = known_dims(b, x)
    axis = axis % len(own)
    return b.tensor(b.node("Squeeze", x, squeeze_dims=[axis]), without_axis(own, axis))


def stack(b: NodeBuilder[T], tensors: Sequence[T], axis: int = 0) -> T:
    dims = known_dims(b, tensors[0])
    axis = axis % (len(dims) + 1)
    return b.tensor(b.node("Pack", list(tensors), axis=axis), (*dims[:axis], len(tensors), *dims[axis:]))


def slice_axis(b: NodeBuilder[T], x: T, axis: int, start: int | None, stop: int | None) -> T:
    """A range of one axis; negative positions count from its end."""
    own = known_dims(b, x)
    axis = axis % len(own)
    size = own[axis]
    begins, ends = [0] * (axis + 1), [0] * (axis + 1)
    begins[axis], ends[axis] = start or 0, stop or 0
    others = (1 << axis) - 1
    node = b.node(
        "StridedSlice", x, begins, ends, [1] * (axis + 1),
        begin_mask=others | (int(start is None) << axis), end_mask=others | (int(stop is None) << axis),
    )  # fmt: skip
    return b.tensor(node, with_size(own, axis, None if size is None else len(range(size)[start:stop])))


def broadcast_dims(b: NodeBuilder[T], *shapes: Dims) -> Dims:
    """The shape of several after broadcasting; refuses those that do not fit."""
    try:
        dims = broadcast(*shapes)
    except ShapeConflict as conflict:
        raise b.refuse(str(conflict)) from None
    assert dims is not None
    return dims


def without_axis(dims: Dims, axis: int) -> Dims:
    return (*dims[:axis], *dims[axis + 1 :])


def with_size(dims: Dims, axis: int, size: int | None) -> Dims:
    return (*dims[:axis], size, *dims[axis + 1 :])


def reduce(b: NodeBuilder[T], op: str, x: T, axes: Sequence[int], *, keep: bool = False) -> T:
    """`Sum`, `Mean`, `Max`, `Min`, `Prod`, `All` or `Any` over axes."""
    own = known_dims(b, x)
    reduced = sorted(axis % len(own) for axis in axes)
    dims = [1 if i in reduced else size for i, size in enumerate(own) if keep or i not in reduced]
    return b.tensor(b.node(op, x, reduced, keep_dims=keep), dims)


def pad(b: NodeBuilder[T], x: T, paddings: Sequence[tuple[int, int]], value: float = 0) -> T:
    """Add constant elements before and after each axis."""
    if not any(before or after for before, after in paddings):
        return x
    own = b.shape(x)
    dims = own and [
        None if size is None else size + before + after
        for size, (before, after) in zip(own, paddings, strict=True)
    ]
    around = [list(pair) for pair in paddings]
    return b.tensor(b.node("PadV2", x, around, value) if value else b.node("Pad", x, around), dims)


def matmul(b: NodeBuilder[T], x: T, matrix: T) -> T:
    """The product over the last axis of a tensor of any rank with a matrix."""
    own, columns = known_dims(b, x), known_dims(b, matrix)[1]
    if len(own) == 2:
        return b.tensor(b.node("MatMul", x, matrix), (own[0], columns))
    rows = reshape(b, x, (None, own[-1]))
    product = b.tensor(b.node("MatMul", rows, matrix), (known_dims(b, rows)[0], columns))
    outer = own[:-1]
    if outer.count(None) <= 1:
        return reshape(b, product, (*outer, columns))
    result = reshape(b, product, (*sizes(b, x)[:-1], columns))
    return b.tensor(b.value(result), (*outer, columns))


def batch_matmul(b: NodeBuilder[T], x: T, y: T, *, adj_x: bool = False, adj_y: bool = False) -> T:
    """The products of the matrices in the last two axes."""
    left, right = known_dims(b, x), known_dims(b, y)
    rows = left[-1] if adj_x else left[-2]
    columns = right[-2] if adj_y else right[-1]
    op = "BatchMatMul" if left[:-2] == right[:-2] else "BatchMatMulV2"
    outer = broadcast_dims(b, left[:-2], right[:-2])
    return b.tensor(b.node(op, x, y, adj_x=adj_x, adj_y=adj_y), (*outer, rows, columns))


def gather(b: NodeBuilder[T], params: T, indices: T, axis: int = 0) -> T:
    """The slices of `params` at `indices` of an axis."""
    own = known_dims(b, params)
    axis = axis % len(own)
    dims = (*own[:axis], *known_dims(b, indices), *own[axis + 1 :])
    return b.tensor(b.node("GatherV2", params, indices, axis), dims)


def select(b: NodeBuilder[T], condition: T, x: T, y: T) -> T:
    """Elements of `x` where the condition holds, else of `y`; all broadcast."""
    shapes = [known_dims(b, tensor) for tensor in (condition, x, y)]
    op = "Select" if shapes[0] == shapes[1] == shapes[2] else "SelectV2"
    return b.tensor(b.node(op, condition, x, y), broadcast_dims(b, *shapes))


def zeros(b: NodeBuilder[T], dims: Sequence[Size], dtype: DType) -> T:
    """Zeros of a shape that may be computed."""
    known = [size if isinstance(size, int) else None for size in dims]
    return b.tensor(b.node("Fill", shape_vector(b, dims), b.const(0, dtype)), known)
