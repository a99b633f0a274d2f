"""Reshape, join, slice, reduce and multiply tensors, with their shapes. Unknown sizes are computed in runs.

Functions that depend on the rank refuse a tensor of unknown rank.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tfport.graph.building.node_builder import Dims, NodeBuilder, T
from tfport.graph.building.sizes import NodeOrValue, Size, known_dims, open_shape, shape_vector, sizes
from tfport.graph.dtypes import DType
from tfport.graph.op_facts.rule import ShapeConflict, broadcast


def reshape(b: NodeBuilder[T], x: T | NodeOrValue, dims: Sequence[Size]) -> T:
    """The tensor in another shape; at most one size is None."""
    own, known = b.shape(x), [size if isinstance(size, int) else None for size in dims]
    if own is not None and None not in own and known.count(None) == 1 and None in dims:
        rest = math.prod(size for size in known if size is not None)
        known[known.index(None)] = math.prod(own) // max(1, rest)  # type: ignore[arg-type]
    return b.tensor(b.node("Reshape", x, open_shape(b, dims)), known)


def transpose(b: NodeBuilder[T], x: T, order: Sequence[int]) -> T:
    """The tensor with its axes in an order; itself if they are."""
    return x if list(order) == list(range(len(order))) else b.result("Transpose", x, list(order))


def concat(b: NodeBuilder[T], tensors: Sequence[T], axis: int) -> T:
    if len(tensors) == 1:  # TensorFlow refuses ConcatV2 of one
        return tensors[0]
    return b.result("ConcatV2", list(tensors), axis % len(known_dims(b, tensors[0])))


def split(b: NodeBuilder[T], x: T, count: int, axis: int, *, drop: bool = False) -> list[T]:
    """Equal parts along an axis; `drop` removes the axis from parts of size 1."""
    axis = axis % len(known_dims(b, x))
    node = b.node("Unpack", x, num=count, axis=axis) if drop else b.node("Split", axis, x, num_split=count)
    return b.results(node)


def reverse(b: NodeBuilder[T], x: T, *axes: int) -> T:
    rank = len(known_dims(b, x))
    return b.result("ReverseV2", x, [axis % rank for axis in axes])


def expand_dims(b: NodeBuilder[T], x: T, axis: int) -> T:
    return b.result("ExpandDims", x, axis % (len(known_dims(b, x)) + 1))


def squeeze(b: NodeBuilder[T], x: T, axis: int) -> T:
    return b.result("Squeeze", x, squeeze_dims=[axis % len(known_dims(b, x))])


def stack(b: NodeBuilder[T], tensors: Sequence[T], axis: int = 0) -> T:
    return b.result("Pack", list(tensors), axis=axis % (len(known_dims(b, tensors[0])) + 1))


def slice_axis(b: NodeBuilder[T], x: T, axis: int, start: int | None, stop: int | None, step: int = 1) -> T:
    """A range of one axis; negative positions count from its end."""
    axis = axis % len(known_dims(b, x))
    rest, others = [0] * axis, (1 << axis) - 1
    return b.result(
        "StridedSlice", x, [*rest, start or 0], [*rest, stop or 0], [*[1] * axis, step],
        begin_mask=others | (int(start is None) << axis), end_mask=others | (int(stop is None) << axis),
    )  # fmt: skip


def broadcast_dims(b: NodeBuilder[T], *shapes: Dims) -> Dims:
    """The shape of several after broadcasting; refuses those that do not fit."""
    try:
        dims = broadcast(*shapes)
    except ShapeConflict as conflict:
        raise b.refuse(str(conflict)) from None
    assert dims is not None
    return dims


def reduce(b: NodeBuilder[T], op: str, x: T, axes: Sequence[int], *, keep: bool = False) -> T:
    """`Sum`, `Mean`, `Max`, `Min`, `Prod`, `All` or `Any` over axes."""
    rank = len(known_dims(b, x))
    return b.result(op, x, sorted(axis % rank for axis in axes), keep_dims=keep)


def pad(b: NodeBuilder[T], x: T, paddings: Sequence[tuple[int, int]], value: float = 0) -> T:
    """Add constant elements before and after each axis."""
    if not any(before or after for before, after in paddings):
        return x
    around = [list(pair) for pair in paddings]
    return b.result("PadV2", x, around, value) if value else b.result("Pad", x, around)


def matmul(b: NodeBuilder[T], x: T, matrix: T) -> T:
    """The product over the last axis of a tensor of any rank with a matrix."""
    own = known_dims(b, x)
    if len(own) == 2:
        return b.result("MatMul", x, matrix)
    product = b.result("MatMul", reshape(b, x, (None, own[-1])), matrix)
    outer, columns = own[:-1], known_dims(b, matrix)[1]
    if outer.count(None) <= 1:
        return reshape(b, product, (*outer, columns))
    result = reshape(b, product, (*sizes(b, x)[:-1], columns))
    return b.tensor(b.value(result), (*outer, columns))


def batch_matmul(b: NodeBuilder[T], x: T, y: T, *, adj_x: bool = False, adj_y: bool = False) -> T:
    """The products of the matrices in the last two axes."""
    left, right = known_dims(b, x)[:-2], known_dims(b, y)[:-2]
    broadcast_dims(b, left, right)
    return b.result("BatchMatMul" if left == right else "BatchMatMulV2", x, y, adj_x=adj_x, adj_y=adj_y)


def gather(b: NodeBuilder[T], params: T, indices: T, axis: int = 0) -> T:
    """The slices of `params` at `indices` of an axis."""
    return b.result("GatherV2", params, indices, axis % len(known_dims(b, params)))


def select(b: NodeBuilder[T], condition: T, x: T, y: T) -> T:
    """Elements of `x` where the condition holds, else of `y`; all broadcast."""
    shapes = [known_dims(b, tensor) for tensor in (condition, x, y)]
    broadcast_dims(b, *shapes)
    return b.result("Select" if shapes[0] == shapes[1] == shapes[2] else "SelectV2", condition, x, y)


def zeros(b: NodeBuilder[T], dims: Sequence[Size], dtype: DType) -> T:
    """Zeros of a shape that may be computed."""
    known = [size if isinstance(size, int) else None for size in dims]
    return b.tensor(b.node("Fill", shape_vector(b, dims), b.const(0, dtype)), known)
