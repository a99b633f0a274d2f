"""Conversions between real numbers and quantized ones, and between quantizations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.lite.fixed_point import rescale, round_away
from tfport.runtime.lower import host


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
