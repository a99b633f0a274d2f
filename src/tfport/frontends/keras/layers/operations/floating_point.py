"""Operations on each element that depend on how numbers are stored: NaN, signs, remainders, closeness."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.promotion import as_floating, promoted, tensors_of
from tfport.frontends.keras.tensor import LayerTensor
from tfport.graph.building.arrays import expand_dims, reduce, reshape, select
from tfport.graph.building.sizes import sizes
from tfport.graph.dtypes import BOOL, FLOAT32, INT32, INT64, DType

FLOAT64 = DType.parse("float64")
_UNSIGNED = ("uint8", "uint16", "uint32")


@layer("ops.Fmax ops.Fmin")
def extreme_number(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """The larger or smaller of two; a number where the other one is NaN."""
    x, y = promoted(b, x1, x2)
    op = b.Maximum if b.instance.config.class_name == "Fmax" else b.Minimum
    if not x.dtype.is_floating:
        return op(x, y)
    return select(b, b.IsNan(x), y, select(b, b.IsNan(y), x, op(x, y)))


@layer("ops.Fmod")
def remainder(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """The remainder of a division, with the sign of the first operand."""
    x, y = promoted(b, *tensors_of(b, x1, x2))
    dtype = INT32 if x.dtype == BOOL else x.dtype
    x, y = (b.cast(operand, INT32 if str(dtype) in _UNSIGNED else dtype) for operand in (x, y))
    return b.cast(b.Mul(b.Sign(x), b.FloorMod(b.Abs(x), b.Abs(y))), dtype)


@layer("ops.Heaviside")
def heaviside(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """0 below zero, 1 above, the second operand at zero."""
    x, y = promoted(b, *tensors_of(b, x1, x2))
    dtype = x.dtype if x.dtype.is_floating else FLOAT64 if x.dtype == INT64 else FLOAT32
    x, y = b.cast(x, dtype), b.cast(y, dtype)
    zero = b.constant(0, dtype)
    above = select(b, b.Greater(x, zero), b.OnesLike(x), y)
    return select(b, b.Less(x, zero), b.ZerosLike(x), above)


@layer("ops.Sinc")
def sinc(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    x = as_floating(b, x)
    angle = b.Mul(x, math.pi)
    return select(b, b.Equal(x, 0.0), b.OnesLike(x), b.RealDiv(b.Sin(angle), angle))


@layer("ops.Signbit")
def sign_bit(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    """Whether a number has the sign bit, as -0.0 has."""
    if x.dtype == BOOL or str(x.dtype).startswith("u"):
        return b.cast(b.ZerosLike(x), BOOL)
    if x.dtype.is_floating:
        x = b.cast(x, FLOAT32)
        x = b.tensor(b.node("Bitcast", x, type=INT32), x.shape)
    return b.Less(x, b.constant(0, x.dtype))


@layer("ops.Logaddexp2")
def log_add_exp2(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """The logarithm to base 2 of a sum of powers of 2."""
    x, y = (as_floating(b, operand) for operand in promoted(b, *tensors_of(b, x1, x2)))
    difference = b.Sub(x, y)
    more = b.RealDiv(b.Log1p(b.Exp(b.Mul(b.Neg(b.Abs(difference)), math.log(2)))), math.log(2))
    return select(b, b.IsNan(difference), b.Add(x, y), b.Add(b.Maximum(x, y), more))


@layer("ops.Ldexp")
def times_power_of_2(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    x, exponent = tensors_of(b, x1, x2)
    x = as_floating(b, promoted(b, x, exponent)[0])
    result = b.Mul(x, b.Pow(b.constant(2.0, x.dtype), b.cast(exponent, x.dtype)))
    kept = b.LogicalOr(b.IsInf(x), b.Equal(x, 0.0))
    return select(b, kept, x, result)


@layer("ops.Nextafter")
def next_after(b: LayerBuilder, x1: Any, x2: Any) -> LayerTensor:
    """The next number of float64 in the direction of another, rounded to the type of the result."""
    operands = tensors_of(b, x1, x2)
    dtype = as_floating(b, promoted(b, *operands)[0]).dtype
    x, y = (b.cast(operand, FLOAT64) for operand in operands)
    zero = b.ZerosLike(b.Add(x, y))
    return b.cast(b.NextAfter(b.Add(x, zero), b.Add(y, zero)), dtype)


@layer("ops.Erfinv")
def inverse_erf(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    wide = b.cast(x, FLOAT32) if str(x.dtype) in ("float16", "bfloat16") else x
    return b.cast(b.Erfinv(wide), x.dtype)


@layer("ops.I0")
def bessel_i0(b: LayerBuilder, x: LayerTensor) -> LayerTensor:
    x = b.cast(x, FLOAT64) if x.dtype == INT64 else as_floating(b, x)
    return b.BesselI0(x)


@layer("ops.Isclose")
def is_close(
    b: LayerBuilder, x1: Any, x2: Any, rtol: float = 1e-5, atol: float = 1e-8, *, equal_nan: bool = False
) -> LayerTensor:
    x, y = promoted(b, *tensors_of(b, x1, x2))
    if not x.dtype.is_floating:
        return b.Equal(x, y)
    close = b.LessEqual(b.Abs(b.Sub(x, y)), b.Add(b.Mul(b.Abs(y), rtol), atol))
    return b.LogicalOr(close, b.LogicalAnd(b.IsNan(x), b.IsNan(y))) if equal_nan else close


@layer("ops.AllClose")
def all_close(
    b: LayerBuilder, x1: Any, x2: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> LayerTensor:
    x, y = promoted(b, *tensors_of(b, x1, x2))
    close = is_close(b, x, y, rtol, atol, equal_nan=equal_nan)
    if x.dtype.is_floating:
        finite = b.LogicalAnd(b.IsFinite(x), b.IsFinite(y))
        both_nan = b.LogicalAnd(b.IsNan(x), b.IsNan(y))
        close = b.LogicalOr(b.LogicalAnd(b.LogicalOr(finite, both_nan), close), b.Equal(x, y))
    return reduce(b, "All", close, range(close.rank))


@layer("ops.IsIn")
def is_in(
    b: LayerBuilder, x1: Any, x2: Any, *, assume_unique: bool = False, invert: bool = False
) -> LayerTensor:
    x, wanted = promoted(b, *tensors_of(b, x1, x2))
    equal = b.Equal(expand_dims(b, x, -1), reshape(b, wanted, (None,)))
    matches = reduce(b, "Any", equal, [-1])
    return b.LogicalNot(matches) if invert else matches


@layer("ops.Select")
def select_operation(
    b: LayerBuilder, condlist: Sequence[LayerTensor], choicelist: Sequence[Any], default: Any = 0
) -> LayerTensor:
    """Elements of the first choice whose condition holds."""
    *choices, result = promoted(b, *tensors_of(b, *choicelist, default))
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        result = select(b, b.cast(condition, BOOL), choice, result)
    return result


@layer("ops.View")
def view(b: LayerBuilder, x: LayerTensor, *, dtype: str | None = None) -> LayerTensor:
    """The same bytes as numbers of another type."""
    element_type = DType.parse(dtype) if dtype else x.dtype
    before, after = (np.dtype(t.numpy).itemsize for t in (x.dtype, element_type))
    if before == after:
        return b.tensor(b.node("Bitcast", x, type=element_type), x.shape)
    last = x.shape[-1] if x.rank else None
    if last is None:
        raise b.refuse("the last axis, whose size changes, is unknown")
    *outer, _ = sizes(b, x)
    if before > after:
        parts = b.tensor(b.node("Bitcast", x, type=element_type), (*x.shape, before // after))
        length = last * (before // after)
        return b.tensor(reshape(b, parts, (*outer, length)).value, (*x.shape[:-1], length))
    ratio = after // before
    if last % ratio:
        raise b.refuse(f"{last} elements of {before} bytes are no whole number of {element_type}")
    parts = reshape(b, x, (*outer, last // ratio, ratio))
    return b.tensor(b.node("Bitcast", parts, type=element_type), (*x.shape[:-1], last // ratio))
