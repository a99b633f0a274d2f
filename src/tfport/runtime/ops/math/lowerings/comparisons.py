"""Comparisons, logic, selection and bitwise ops, lowered to ONNX."""

from __future__ import annotations

from tfport.graph.dtypes import BOOL
from tfport.runtime.lower import CannotLower, lower, same_name
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.math.lowerings.arithmetic import would_broadcast

same_name("BitwiseAnd BitwiseOr BitwiseXor Invert:BitwiseNot")
same_name("Less LessEqual:LessOrEqual Greater GreaterEqual:GreaterOrEqual LogicalAnd:And LogicalOr:Or")


@lower("Equal")
def equal(b, x, y, *, incompatible_shape_error):
    _comparable(x, y, incompatible_shape_error)
    return b.Equal(x, y)


@lower("NotEqual")
def not_equal(b, x, y, *, incompatible_shape_error):
    _comparable(x, y, incompatible_shape_error)
    return b.Not(b.Equal(x, y))


def _comparable(x: Operand, y: Operand, incompatible_shape_error: bool) -> None:
    """Where TensorFlow has a result for shapes that do not broadcast, require that they do."""
    if incompatible_shape_error or x.rank == 0 or y.rank == 0:
        return
    if x.shape is None or y.shape is None:
        raise CannotLower("the shapes may not broadcast")
    pairs = zip(reversed(x.shape), reversed(y.shape), strict=False)
    if any(1 not in (m, n) and (m is None or m != n) for m, n in pairs):
        raise CannotLower("the shapes may not broadcast")


@lower("SelectV2")
def select_v2(b, condition, t, e):
    return _where(b, condition, t, e)


@lower("Select")
def select(b, condition, t, e):
    """The condition is a scalar, has the shape of both inputs, or selects whole rows."""
    if condition.rank is None or t.rank is None or t.rank != e.rank or would_broadcast([t, e]):
        raise CannotLower("the inputs may differ in shape")
    if condition.rank not in (0, 1, t.rank) or condition.rank > t.rank or would_broadcast([condition, t]):
        raise CannotLower("the condition may have a different shape")
    if condition.rank == 1 and t.rank > 1:
        condition = b.unsqueeze(condition, *range(1, t.rank))
    return _where(b, condition, t, e)


def _where(b: Builder, condition: Operand, t: Operand, e: Operand) -> Operand:
    if t.dtype != BOOL:
        return b.Where(condition, t, e)
    # ONNX Runtime has Where for numbers only
    return b.Or(b.And(condition, t), b.And(b.Not(condition), e))
