"""Arithmetic of two quantized tensors, and conversions of quantized numbers, lowered to ONNX.

Arithmetic is in float32, between conversions that engines fuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.quantized_value import INT8, UINT8
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.lite.quantized_onnx import clipped, dequantized, factor, quantized


def combined(b: Builder, op: str, pairs: Any, y_zero: int, low: int, high: int) -> Operand:
    """An op on two inputs, each with its scale and zero point; the output has scale 1."""
    reals = [dequantized(b, x, scale, zero) for x, scale, zero in pairs]
    return quantized(b, getattr(b, op)(*reals), 1.0, y_zero, pairs[0][0].dtype, low, high)


@lower("LiteAdd")
def add(
    b, x, other, *, T, subtract, left_shift, x_multiplier, x_shift, other_multiplier, other_shift,
    multiplier, shift, x_zero, other_zero, y_zero, low, high,
):  # fmt: skip
    whole = factor(multiplier, shift + left_shift)
    scales = (factor(x_multiplier, x_shift) * whole, factor(other_multiplier, other_shift) * whole)
    if min(scales) <= 0:
        raise CannotLower("a scale is zero")
    pairs = ((x, scales[0], x_zero), (other, scales[1], other_zero))
    return combined(b, "Sub" if subtract else "Add", pairs, y_zero, low, high)


@lower("LiteMul")
def mul(b, x, other, *, T, multiplier, shift, x_zero, other_zero, y_zero, low, high):
    scale = factor(multiplier, shift)
    if scale <= 0:
        raise CannotLower("a scale is zero")
    pairs = ((x, scale, x_zero), (other, 1.0, other_zero))
    return combined(b, "Mul", pairs, y_zero, low, high)


@lower("LiteSquaredDifference")
def squared_difference(
    b, x, other, *, T, x_multiplier, x_shift, other_multiplier, other_shift, multiplier, shift, x_zero,
    other_zero, y_zero, low, high,
):  # fmt: skip
    left = dequantized(b, x, factor(x_multiplier, x_shift), x_zero)
    right = dequantized(b, other, factor(other_multiplier, other_shift), other_zero)
    difference = b.Sub(left, right)
    square = b.Mul(b.Mul(difference, difference), b.const(factor(multiplier, shift + 14), FLOAT32))
    return quantized(b, square, 1.0, y_zero, T, low, high)


@lower("LitePrelu")
def prelu(
    b, x, alpha, *, T, multiplier, shift, alpha_multiplier, alpha_shift, x_zero, alpha_zero, y_zero, low,
    high,
):  # fmt: skip
    value, slope = dequantized(b, x, 1.0, x_zero), dequantized(b, alpha, 1.0, alpha_zero)
    zero = b.const(0, FLOAT32)
    positive = b.Mul(b.Max(value, zero), b.const(factor(multiplier, shift), FLOAT32))
    slopes = b.Mul(slope, b.const(factor(alpha_multiplier, alpha_shift), FLOAT32))
    result = b.Add(positive, b.Mul(b.Min(value, zero), slopes))
    return quantized(b, result, 1.0, y_zero, T, low, high)


# Conversions between real and quantized numbers

FLOAT64 = DType.parse("float64")


@lower("LiteUnsigned")
def unsigned(b, x):
    return _moved(b, b.cast(x, UINT8))


@lower("LiteSigned")
def signed(b, x):
    return b.cast(_moved(b, x), INT8)


def _moved(b: Builder, x: Operand) -> Operand:
    """128 more, as sums of bytes wrap around; flat if the last axis has size 1, where the engine is slow."""
    if x.shape is None or x.shape[-1:] != (1,) or x.shape.count(None) > 1:
        return b.Add(x, b.const(0x80, UINT8))
    flat = b.Add(b.Reshape(x, b.ints(-1)), b.const(0x80, UINT8))
    return b.Reshape(flat, b.ints(*(-1 if size is None else size for size in x.shape)))


@lower("LiteQuantize")
def quantize(b, x, *, T, scale, zero_point, axis, low, high):
    if len(scale) > 1:
        zero = b.const(np.broadcast_to(zero_point, len(scale)), T)
        if T not in (UINT8, INT8):
            raise CannotLower("channels of 16 bits")
        y = b.nodes("QuantizeLinear", x, b.const(scale, FLOAT32), zero, axis=axis, dtype=T)[0]
        return clipped(b, y, low, high) if T == UINT8 else y
    # halves, which plain numbers often are, are rounded away from zero with the next smaller scale
    step = np.nextafter(np.float32(scale[0]), np.float32(0))
    return quantized(b, x, step, zero_point[0], T, low, high)


@lower("LiteDequantize")
def dequantize(b, x, *, T, scale, zero_point, axis):
    if len(scale) > 1:
        if T not in (UINT8, INT8):
            raise CannotLower("channels of 16 bits")
        zero = b.const(np.broadcast_to(zero_point, len(scale)), T)
        return b.nodes("DequantizeLinear", x, b.const(scale, FLOAT32), zero, axis=axis, dtype=FLOAT32)[0]
    return dequantized(b, x, scale[0], zero_point[0])


@lower("LiteRescale")
def rescaled(b, x, *, S, T, multiplier, shift, x_zero, y_zero, low, high):
    if INT32 not in (S, T):
        real = dequantized(b, x, factor(multiplier, shift), x_zero)
        return quantized(b, real, 1.0, y_zero, T, low, high)
    centered = b.Sub(b.cast(x, FLOAT64), b.const(x_zero, FLOAT64))
    whole = b.Round(b.Mul(centered, b.const(factor(multiplier, shift), FLOAT64)))
    moved = b.Add(whole, b.const(y_zero, FLOAT64))
    return b.cast(b.Clip(moved, b.const(low, FLOAT64), b.const(high, FLOAT64)), T)


@lower("LiteLookup")
def lookup(b, x, table, *, S, T):
    """Gather has indices of 32 bits; those of signed integers are moved to start at zero."""
    elements = constant_of(table, "the table")
    index = b.cast(x, INT32)
    if S != UINT8:
        index = b.Add(index, b.const(-np.iinfo(S.numpy).min, INT32))
    return b.Gather(b.const(elements, T), index)


@lower("LiteFunction")
def function(b, x, table, *, function, alpha, x_scale, x_zero, y_scale, y_zero, low, high):
    """In float32: ten times as fast as a lookup."""
    if not 0 <= x_zero <= 255:
        raise CannotLower("the zero point is not a byte")
    real = dequantized(b, x, x_scale, x_zero)
    if function == "LeakyRelu":
        real = b.LeakyRelu(real, alpha=alpha)
    elif function != "Identity":
        real = getattr(b, function)(real)
    return quantized(b, real, y_scale, y_zero, UINT8, low, high)
