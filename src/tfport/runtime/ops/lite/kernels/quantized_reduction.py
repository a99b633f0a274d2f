"""Reductions, softmax and normalization of quantized tensors, as the reference kernels compute them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.frontends.lite.fixed_point import (
    divide_by_power,
    exp_of_negative,
    high_product,
    inverse_sqrt,
    quantized_multiplier,
    reciprocal,
    rescale,
    rescale_wide,
    round_away,
    to_int32,
)
from tfport.frontends.lite.lookup_tables import interpolated, sampled
from tfport.runtime.lower import host

DIFFERENCE_BITS = 5
"""The integer bits of differences to the largest logit."""
SUM_BITS = 12
"""The integer bits of sums of exponentials."""
INT16_RANGE = 65535


@host("LiteMean")
def mean(x, axes, *, T, keep_dims, divide, multiplier, shift, x_zero, y_zero, low, high):
    """The division is part of the factor, with all bits of it that fit."""
    over = tuple(dict.fromkeys(int(axis) % max(x.ndim, 1) for axis in np.asarray(axes).reshape(-1)))
    count = math.prod(x.shape[axis] for axis in over)
    sums = np.sum(x.astype(np.int64), axis=over, keepdims=keep_dims) - x_zero * count
    if divide and count:
        bits = min(count.bit_length() - 1, 32, 31 + shift)
        multiplier, shift = (multiplier << bits) // count, shift - bits
    result = rescale(to_int32(sums), multiplier, shift) + y_zero
    return np.clip(result, low, high).astype(T.numpy)


@host("LiteProd")
def product(x, axes, *, T, keep_dims, x_scale, y_scale, x_zero, y_zero, low, high):
    """Scaled after each factor, so that it does not overflow."""
    over = tuple(dict.fromkeys(int(axis) % max(x.ndim, 1) for axis in np.asarray(axes).reshape(-1)))
    moved = np.moveaxis(x.astype(np.int64) - x_zero, over, range(len(over)))
    factors = moved.reshape(-1, *moved.shape[len(over) :])
    count = len(factors)
    real = float(x_scale) / float(y_scale) ** (1 / max(count, 1))
    multiplier, shift = quantized_multiplier(real)
    result = factors[0]
    for each in factors[1:]:
        result = rescale_wide(result * each, multiplier, shift)
    result = np.clip(rescale_wide(result, multiplier, shift) + y_zero, low, high).astype(T.numpy)
    return np.expand_dims(result, over) if keep_dims else result


@host("LiteSoftmax")
def softmax(x, *, T, U, beta, scale):
    if x.dtype == np.int16:
        return _softmax_of_int16(x, beta, scale)
    shifted = x.astype(np.int64) - x.max(axis=-1, keepdims=True, initial=0).astype(np.int64)
    exponentials, is_near = _exponentials(shifted, float(np.float64(np.float32(beta)) * np.float64(scale)))
    sums = np.sum(np.where(is_near, divide_by_power(exponentials, SUM_BITS), 0), axis=-1, keepdims=True)
    inverse, over = reciprocal(to_int32(sums), SUM_BITS)
    bits = 8 if U.numpy.itemsize == 1 else 16
    result = divide_by_power(high_product(inverse, exponentials), over + 31 - bits)
    if bits == 16:
        return np.where(is_near, np.clip(result - 32768, -32768, 32767), -32768).astype(np.int16)
    return np.where(is_near, np.clip(result, 0, 255), 0).astype(np.uint8)


def _exponentials(difference: Any, factor: float) -> tuple[Any, Any]:
    """exp of differences to the largest logit, and which are near enough to count."""
    real = min(factor * (1 << (31 - DIFFERENCE_BITS)), 2.0**31 - 1)
    multiplier, shift = quantized_multiplier(real)
    radius = math.floor(31 * 2.0 ** (31 - DIFFERENCE_BITS) / 2.0**shift)
    is_near = difference >= -radius
    scaled = high_product(to_int32(np.where(is_near, difference, 0) << shift), multiplier)
    return exp_of_negative(scaled, DIFFERENCE_BITS), is_near


def _softmax_of_int16(x: Any, beta: float, scale: float) -> Any:
    """With tables of exp from -10 to 0 and of 1 / (1 + x) from 0 to 1."""
    exp_table = sampled(10.0 / INT16_RANGE, 32767, 2.0 / INT16_RANGE, np.exp, np.float64)
    inverse_table = sampled(1.0 / INT16_RANGE, -32768, 2.0 / INT16_RANGE, lambda v: 1 / (1 + v), np.float64)
    factor = np.float64(np.float32(scale) * np.float32(beta)) / (10.0 / 65535.0)
    difference = x.astype(np.int64) - x.max(axis=-1, keepdims=True, initial=-32768).astype(np.int64)
    steps = np.clip(rescale(difference, *quantized_multiplier(float(factor))) + 32767, -32768, 32767)
    exponentials = interpolated(exp_table, steps).astype(np.int64)
    sums = np.sum(exponentials, axis=-1, keepdims=True)
    headroom = 32 - np.frexp(sums.astype(np.float64))[1].astype(np.int64)
    shifted = ((sums << (headroom - 1)) + (1 << 13)) >> 14
    inverse = interpolated(inverse_table, np.clip(shifted - (1 << 15) - (1 << 16), -32768, 32767))
    right = 31 - headroom
    result = (exponentials * inverse.astype(np.int64) + (np.int64(1) << (right - 1))) >> right
    return np.clip(result, 0, 32767).astype(np.int16)


@host("LiteLogSoftmax")
def log_softmax(x, *, T, scale):
    """In float64: the fixed point of the kernel is far more accurate than the steps of its output, 1/16."""
    difference = (x.astype(np.int64) - x.max(axis=-1, keepdims=True, initial=0).astype(np.int64)) * scale
    result = difference - np.log(np.sum(np.exp(difference), axis=-1, keepdims=True))
    return np.clip(round_away(result * 16) + 255, 0, 255).astype(T.numpy)


@host("LiteL2Normalization")
def l2_normalization(x, *, T, x_zero, signed):
    centered = x.astype(np.int64) - x_zero
    rows = centered.reshape(-1, centered.shape[-1])
    result = np.empty_like(rows)
    for index, row in enumerate(rows):
        multiplier, shift = inverse_sqrt(int(np.sum(row * row)))
        scaled, exponent = (row, shift + 7) if signed else (row << 7, shift)
        result[index] = rescale(scaled, multiplier, exponent)
    return (np.clip(result, -128, 127) + 128).astype(T.numpy).reshape(x.shape)
