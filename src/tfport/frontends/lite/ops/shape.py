"""Shapes: asked for, changed without moving elements, and filled."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.ops.gathering import as_index
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node


@builtin("RESHAPE", any_type=True)
def reshape(
    b: OperatorBuilder,
    x: LiteValue,
    shape: LiteValue | None = None,
    *,
    new_shape: tuple[int, ...] | None = None,
) -> Node:
    """The second input says the shape; older files have it as an option, where `[0]` means a scalar."""
    if shape is not None and shape.dtype == INT32 and (shape.rank == 1 or shape.load is None):
        return b.Reshape(x, shape)
    sizes = [] if new_shape is None or tuple(new_shape) == (0,) else list(new_shape)
    return b.Reshape(x, b.constant(sizes, INT32))


@builtin("SHAPE", any_type=True)
def shape_of(b: OperatorBuilder, x: LiteValue, *, out_type: str) -> Node:
    return b.Shape(x, out_type=INT64 if out_type == "INT64" else INT32)


@builtin("RANK", any_type=True)
def rank(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Rank(x)


@builtin("EXPAND_DIMS", any_type=True)
def expand_dims(b: OperatorBuilder, x: LiteValue, axis: LiteValue) -> Node:
    return b.ExpandDims(x, axis if axis.array is None else int(axis.array.reshape(-1)[0]))


@builtin("SQUEEZE", any_type=True)
def squeeze(b: OperatorBuilder, x: LiteValue, *, squeeze_dims: tuple[int, ...] | None = None) -> Node:
    return b.Squeeze(x, squeeze_dims=list(squeeze_dims or ()))


@builtin("BROADCAST_TO", any_type=True)
def broadcast_to(b: OperatorBuilder, x: LiteValue, shape: LiteValue) -> Node:
    return b.BroadcastTo(x, shape)


@builtin("BROADCAST_ARGS")
def broadcast_args(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.BroadcastArgs(x, y)


@builtin("FILL", any_type=True)
def fill(b: OperatorBuilder, shape: LiteValue, value: LiteValue) -> Node:
    return b.Fill(shape, value)


@builtin("ZEROS_LIKE")
def zeros_like(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.ZerosLike(x)


@builtin("RANGE")
def range_(b: OperatorBuilder, start: LiteValue, limit: LiteValue, delta: LiteValue) -> Node:
    return b.Range(start, limit, delta)


@builtin("TILE", any_type=True)
def tile(b: OperatorBuilder, x: LiteValue, multiples: LiteValue) -> Node:
    return b.Tile(x, as_index(b, multiples))
