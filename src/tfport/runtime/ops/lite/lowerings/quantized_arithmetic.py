"""Arithmetic of two quantized tensors, lowered to ONNX: in float32, between conversions that engines fuse."""

from __future__ import annotations

from typing import Any

from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.lite.quantized_onnx import dequantized, factor, quantized


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
