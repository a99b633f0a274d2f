"""Reshaping: the elements stay as they are."""

from __future__ import annotations

from tfport.graph.graph import Node
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue


@builtin("RESHAPE", any_type=True)
def reshape(
    b: OperatorBuilder,
    x: LiteValue,
    shape: LiteValue | None = None,
    *,
    new_shape: tuple[int, ...] | None = None,
) -> Node:
    """The second input says the shape; older files have it as an option."""
    if shape is not None and (shape.rank == 1 or shape.load is None):
        return b.Reshape(x, shape)
    return b.Reshape(x, list(new_shape or ()))


@builtin("SHAPE", any_type=True)
def shape_of(b: OperatorBuilder, x: LiteValue, *, out_type: str) -> Node:
    return b.Shape(x, out_type=b.dtype(out_type))
