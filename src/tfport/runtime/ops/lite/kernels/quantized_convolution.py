"""Convolutions of quantized tensors, as the reference kernels compute them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.lite.fixed_point import rescale, rescale_wide, round_away, to_int32
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import convolve
from tfport.runtime.ops.nn.windows import windows


@host("LiteConv")
def lite_conv(
    x, filter, bias, *, U, strides, dilations, padding, groups, multiplier, shift, x_zero, filter_zero,
    y_zero, low, high, scales,
):  # fmt: skip
    """Products are summed as float64, which is exact for them."""
    image, weights = centered(x, x_zero), centered(filter, filter_zero)
    win = windows(x.shape[1:3], filter.shape[:2], strides, dilations, padding)
    sums = convolve(image, weights, win).astype(np.int64)
    if scales:
        of_x, of_y, *of_filter = (np.float64(scale) for scale in scales)
        whole = round_away((sums + bias) * (of_x * np.array(of_filter) / of_y))
        return np.clip(whole + y_zero, low, high).astype(U.numpy)
    return requantized(sums, bias, multiplier, shift, y_zero, low, high).astype(U.numpy)


def centered(x: Any, zero_point: int) -> Any:
    """Quantized values without their zero point, as float64."""
    return x.astype(np.float64) - zero_point


def requantized(sums: Any, bias: Any, multiplier: Any, shift: Any, y_zero: int, low: int, high: int) -> Any:
    """Outputs of sums: with the bias, rescaled, and within bounds."""
    if bias.dtype == np.int64:
        scaled = rescale_wide(sums + bias, multiplier, shift)
    else:
        scaled = rescale(to_int32(sums + bias), multiplier, shift)
    return np.clip(scaled + y_zero, low, high)
