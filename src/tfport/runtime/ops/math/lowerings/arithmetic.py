"""Element-wise arithmetic of two or more tensors, lowered to ONNX."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tfport.graph.dtypes import FLOAT32, INT64
from tfport.runtime.lower import CannotLower, constant_of, lower, same_name
from tfport.runtime.operand import Dims, Operand

same_name("Add AddV2:Add Sub Mul RealDiv:Div")


@lower("Maximum")
def maximum(b, x, y):
    if x.dtype == INT64:  # ONNX Runtime is wrong for values from 2**31 to 2**32
        return b.Where(b.Greater(x, y), x, y)
    return b.Max(x, y)


@lower("Minimum")
def minimum(b, x, y):
    if x.dtype == INT64:
        return b.Where(b.Less(x, y), x, y)
    return b.Min(x, y)


@lower("SquaredDifference")
def squared_difference(b, x, y):
    difference = b.Sub(x, y)
    return b.Mul(difference, difference)


@lower("Pow")
def power(b, x, y):
    if not x.dtype.is_integer:
        return b.Pow(x, y)
    # ONNX Runtime computes in floats, where large powers do not wrap
    if y.array is not None and y.array.ndim == 0 and int(y.array) in (1, 2, 3):
        product = x
        for _ in range(int(y.array) - 1):
            product = b.Mul(product, x)
        return product if product is not x else b.Identity(x)
    raise CannotLower("integer powers wrap")


@lower("Div")
def div(b, x, y):
    return truncate_div(b, x, y) if x.dtype.is_integer else b.Div(x, y)


@lower("TruncateDiv")
def truncate_div(b, x, y):
    if not x.dtype.is_integer:
        quotient = b.Div(x, y)
        return b.Where(b.Less(quotient, b.const(0, x.dtype)), b.Ceil(quotient), b.Floor(quotient))
    _safe_divisor(y)
    return b.Div(x, y)


@lower("FloorDiv")
def floor_div(b, x, y):
    if not x.dtype.is_integer:
        return b.Floor(b.Div(x, y))
    _safe_divisor(y)
    quotient, zero = b.Div(x, y), b.const(0, x.dtype)
    rest = b.Sub(x, b.Mul(quotient, y))
    below = b.And(b.Not(b.Equal(rest, zero)), b.Xor(b.Less(rest, zero), b.Less(y, zero)))
    floored = b.Sub(quotient, b.cast(below, x.dtype))
    floored.known = _divided(x.known, y.known)
    return floored


def _divided(x: Dims | None, y: Dims | None) -> Dims | None:
    """Keep known sizes known: models halve shapes this way."""
    if x is None or y is None or len(y) != 1:
        return None
    return tuple(None if n is None or not y[0] else n // y[0] for n in x)


@lower("FloorMod")
def floor_mod(b, x, y):
    if x.dtype.is_integer:
        _safe_divisor(y)
        return b.Mod(x, y)
    # ONNX's remainder has the sign of x, TensorFlow's that of y: add y where they differ
    rest, zero = b.Mod(x, y, fmod=1), b.const(0, x.dtype)
    differ = b.Xor(b.Less(rest, zero), b.Less(y, zero))
    return b.Where(b.And(differ, b.Not(b.Equal(rest, zero))), b.Add(rest, y), rest)


@lower("Mod TruncateMod")
def truncate_mod(b, x, y):
    if x.dtype.is_integer:
        _safe_divisor(y)
    return b.Mod(x, y, fmod=1)


def _safe_divisor(y: Operand) -> None:
    """ONNX Runtime crashes on a division by zero, and of the smallest integer by -1."""
    divisor = constant_of(y, "the integer divisor")
    if not divisor.all() or (divisor.astype("int64") == -1).any():
        raise CannotLower("the divisor contains 0 or -1")


@lower("DivNoNan")
def div_no_nan(b, x, y):
    zero = b.const(0, x.dtype)
    return b.Where(b.Equal(y, zero), zero, b.Div(x, y))


@lower("MulNoNan")
def mul_no_nan(b, x, y):
    zero = b.const(0, x.dtype)
    return b.Where(b.Equal(y, zero), zero, b.Mul(x, y))


@lower("Xdivy")
def xdivy(b, x, y):
    zero = b.const(0, x.dtype)
    return b.Where(b.Equal(x, zero), zero, b.Div(x, y))


@lower("Xlogy")
def xlogy(b, x, y):
    zero = b.const(0, x.dtype)
    return b.Where(b.Equal(x, zero), zero, b.Mul(x, b.Log(y)))


@lower("ClipByValue")
def clip_by_value(b, t, clip_value_min, clip_value_max):
    low, high = clip_value_min.array, clip_value_max.array
    if clip_value_min.rank != 0 or clip_value_max.rank != 0:
        raise CannotLower("a bound is not a scalar")
    if low is not None and high is not None and low <= high and t.dtype != INT64:
        return b.Clip(t, clip_value_min, clip_value_max)
    below = b.Where(b.Less(clip_value_max, t), clip_value_max, t)
    return b.Where(b.Less(below, clip_value_min), clip_value_min, below)


@lower("AddN")
def add_n(b, inputs):
    _one_shape(inputs)
    total = inputs[0]
    for term in inputs[1:]:
        total = b.Add(total, term)
    return total if len(inputs) > 1 else b.Identity(total)


@lower("AccumulateNV2")
def accumulate_n(b, inputs, *, shape):
    return add_n(b, inputs)


def _one_shape(inputs: list[Operand]) -> None:
    if len({operand.rank for operand in inputs}) > 1 or would_broadcast(inputs):
        raise CannotLower("the inputs may have different shapes")


def would_broadcast(operands: Iterable[Operand]) -> bool:
    """Whether ONNX may broadcast an axis of size 1 where TensorFlow requires equal shapes."""
    shapes = [operand.shape for operand in operands if operand.shape is not None]
    return any(1 in sizes and set(sizes) != {1} for sizes in zip(*shapes, strict=False))


@lower("Atan2")
def atan2(b, y, x):
    """The angle of a point: that of its slope, half a turn away where x is negative."""
    if x.dtype != FLOAT32:
        raise CannotLower("it is computed for float32")
    zero, pi = b.const(0, FLOAT32), b.const(math.pi, FLOAT32)
    far = b.And(b.IsInf(x), b.IsInf(y))
    near = b.And(b.Equal(x, zero), b.Equal(y, zero))
    slope = b.Div(b.Where(far, b.Sign(y), y), b.Where(far, b.Sign(x), x))
    angle = b.Atan(b.Where(near, y, slope))
    # the reciprocal of a negative zero is negative
    left, below = (b.Or(b.Less(n, zero), b.Less(b.Reciprocal(n), zero)) for n in (x, y))
    opposite = b.Where(below, b.Sub(angle, pi), b.Add(angle, pi))
    return b.Where(left, opposite, angle)
