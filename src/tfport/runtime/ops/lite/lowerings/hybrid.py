"""Activations rounded to the 8-bit steps of their rows, lowered to ONNX."""

from __future__ import annotations

from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.lower import CannotLower, lower, rank_of

FLOAT64 = DType.parse("float64")


@lower("LiteHybridInput")
def hybrid_input(b, x, *, asymmetric, axis):
    axes = range(axis, rank_of(x))
    if x.shape is None or any(size in (None, 0) for size in x.shape[axis:]):
        raise CannotLower("the size of a row is unknown")
    low, high = b.ReduceMin(x, b.ints(*axes)), b.ReduceMax(x, b.ints(*axes))
    if asymmetric:
        return _asymmetric(b, x, low, high)
    bound = b.Max(b.Neg(low), high)
    some = b.Greater(bound, b.const(0, FLOAT32))
    divisor = b.Where(some, bound, b.const(1, FLOAT32))
    q = _round(b, b.Mul(x, b.Div(b.const(127, FLOAT32), divisor)))
    return b.Mul(q, b.Div(bound, b.const(127, FLOAT32)))


def _asymmetric(b, x, low, high):
    """The zero point is computed in float64, as TensorFlow Lite does."""
    low = b.cast(b.Min(low, b.const(0, FLOAT32)), FLOAT64)
    high = b.cast(b.Max(high, b.const(0, FLOAT32)), FLOAT64)
    width = b.Div(b.Sub(high, low), b.const(255, FLOAT64))
    scale = b.Where(b.Greater(width, b.const(0, FLOAT64)), width, b.const(1, FLOAT64))
    below, above = b.Div(low, scale), b.Div(high, scale)  # the first is not positive, the second not negative
    is_low_nearer = b.Less(b.Sub(b.const(128, FLOAT64), below), b.Add(b.const(127, FLOAT64), above))
    exact = b.Where(is_low_nearer, b.Sub(b.const(-128, FLOAT64), below), b.Sub(b.const(127, FLOAT64), above))
    zero = b.cast(_clip(b, _round(b, exact), -128, 127), FLOAT32)
    step = b.cast(scale, FLOAT32)
    q = _clip(b, _round(b, b.Add(zero, b.Mul(x, b.Div(b.const(1, FLOAT32), step)))), -128, 127)
    return b.Mul(b.Sub(q, zero), step)


def _round(b, x):
    """Halves away from zero."""
    return b.Mul(b.Sign(x), b.Floor(b.Add(b.Abs(x), b.const(0.5, x.dtype))))


def _clip(b, x, low, high):
    return b.Clip(x, b.const(low, x.dtype), b.const(high, x.dtype))
