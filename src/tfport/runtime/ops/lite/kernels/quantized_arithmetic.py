"""Arithmetic of two quantized tensors, and conversions between real and quantized numbers.

All are computed as TensorFlow Lite's reference kernels do.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.lite.fixed_point import (
    divide_by_power,
    high_product,
    reciprocal,
    rescale,
    round_away,
    to_int32,
)
from tfport.runtime.lower import host


def scaled(x: Any, zero: int, left_shift: int, multiplier: int, shift: int) -> Any:
    """Values in a scale that two inputs have in common."""
    return rescale((x.astype(np.int64) - zero) << left_shift, multiplier, shift)


@host("LiteAdd")
def add(
    x, other, *, T, subtract, left_shift, x_multiplier, x_shift, other_multiplier, other_shift, multiplier,
    shift, x_zero, other_zero, y_zero, low, high,
):  # fmt: skip
    left = scaled(x, x_zero, left_shift, x_multiplier, x_shift)
    right = scaled(other, other_zero, left_shift, other_multiplier, other_shift)
    total = to_int32(left - right if subtract else left + right)
    return np.clip(rescale(total, multiplier, shift) + y_zero, low, high).astype(T.numpy)


@host("LiteAddPowersOfTwo")
def add_powers_of_two(x, other, *, T, subtract, x_shift, other_shift, low, high):
    """Only one input has another scale than the output; it is rounded to it."""
    left, right = divide_by_power(x, -x_shift), divide_by_power(other, -other_shift)
    total = left - right if subtract else left + right
    return np.clip(np.clip(total, -32768, 32767), low, high).astype(T.numpy)


@host("LiteMul")
def mul(x, other, *, T, multiplier, shift, x_zero, other_zero, y_zero, low, high):
    product = (x.astype(np.int64) - x_zero) * (other.astype(np.int64) - other_zero)
    return np.clip(rescale(product, multiplier, shift) + y_zero, low, high).astype(T.numpy)


@host("LiteDiv")
def div(x, other, *, T, multiplier, shift, x_zero, other_zero, y_zero, low, high):
    """By a reciprocal in fixed point; the dividend is shifted left as far as it goes."""
    x, other = np.broadcast_arrays(x.astype(np.int64) - x_zero, other.astype(np.int64) - other_zero)
    sign = np.where(other < 0, -1, 1)
    x, other = x * sign, np.maximum(other * sign, 1)
    inverse, over = reciprocal(other, 31)
    headroom = 31 - np.frexp(np.where(x < 0, -x - 1, x).astype(np.float64))[1]
    quotient = high_product(x << headroom, inverse)
    result = _shifted(high_product(quotient, multiplier), headroom + over - shift)
    return np.clip(result + y_zero, low, high).astype(T.numpy)


def _shifted(x: Any, exponent: Any) -> Any:
    """Divided by a power of two; by more than 31 bits, which kernels do not expect, as x86 shifts."""
    beyond = (x >> (exponent & 31)) + (x > np.where(x < 0, 0, -1))
    return np.where(exponent > 31, beyond, divide_by_power(x, np.clip(exponent, 0, 31)))


@host("LiteSquaredDifference")
def squared_difference(
    x, other, *, T, x_multiplier, x_shift, other_multiplier, other_shift, multiplier, shift, x_zero,
    other_zero, y_zero, low, high,
):  # fmt: skip
    left = scaled(x, x_zero, 7, x_multiplier, x_shift)
    right = scaled(other, other_zero, 7, other_multiplier, other_shift)
    square = to_int32((left - right) ** 2)
    return np.clip(rescale(square, multiplier, shift) + y_zero, low, high).astype(T.numpy)


@host("LitePrelu")
def prelu(
    x, alpha, *, T, multiplier, shift, alpha_multiplier, alpha_shift, x_zero, alpha_zero, y_zero, low, high
):
    value = x.astype(np.int64) - x_zero
    negative = rescale(value * (alpha.astype(np.int64) - alpha_zero), alpha_multiplier, alpha_shift)
    result = np.where(value >= 0, rescale(value, multiplier, shift), negative)
    return np.clip(result + y_zero, low, high).astype(T.numpy)


# Conversions between real and quantized numbers, and between quantizations


@host("LiteUnsigned")
def unsigned(x):
    return (x.view(np.uint8) ^ 0x80).astype(np.uint8)


@host("LiteSigned")
def signed(x):
    return (x ^ np.uint8(0x80)).view(np.int8)


@host("LiteQuantize")
def quantize(x, *, T, scale, zero_point, axis, low, high):
    """Rounded in float32, halves away from zero; what is too large for int32 becomes the smallest."""
    steps, zero = along(scale, np.float32, axis, x.ndim), along(zero_point, np.int64, axis, x.ndim)
    with np.errstate(all="ignore"):
        whole = round_away(x / steps)
        fits = (whole >= -(2.0**31)) & (whole < 2.0**31)
        integers = np.where(fits, whole, -(2.0**31)).astype(np.int64)
    return np.clip(integers + zero, low, high).astype(T.numpy)


@host("LiteDequantize")
def dequantize(x, *, T, scale, zero_point, axis):
    steps, zero = along(scale, np.float32, axis, x.ndim), along(zero_point, np.int32, axis, x.ndim)
    return steps * (x.astype(np.int32) - zero).astype(np.float32)


@host("LiteRescale")
def rescaled(x, *, S, T, multiplier, shift, x_zero, y_zero, low, high):
    centered = x.astype(np.int64) - x_zero
    return np.clip(rescale(centered, multiplier, shift) + y_zero, low, high).astype(T.numpy)


@host("LiteLookup")
def lookup(x, table, *, S, T):
    """The element of a table for each value of an 8 or 16-bit integer."""
    return table[x.astype(np.int32) - np.iinfo(x.dtype).min]


@host("LiteFunction")
def function(x, table, *, function, alpha, x_scale, x_zero, y_scale, y_zero, low, high):
    return table[x]


def along(values: Sequence[Any], dtype: Any, axis: int, rank: int) -> Any:
    """One value, or one for each index of an axis, as an array that broadcasts."""
    array = np.array(values, dtype)
    return array[0] if len(array) == 1 else array.reshape([-1 if i == axis else 1 for i in range(rank)])
