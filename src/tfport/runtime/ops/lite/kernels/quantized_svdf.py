"""SVDF of int8 with an int16 memory, as the kernels compute it."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.fixed_point import rescale, to_int32
from tfport.runtime.lower import host


@host("LiteIntegerSvdf")
def lite_integer_svdf(x, features, times, bias, state, *, rank, multiplier, shift, x_zero, y_zero):
    """Filters of the input become the newest column of the memory, which is then summed over time."""
    filters, length = times.shape
    sums = (x.astype(np.float64) - x_zero) @ features.astype(np.float64).T
    newest = np.clip(rescale(sums.astype(np.int64), multiplier[0], shift[0]), -32768, 32767)
    memory = state.reshape(-1, filters, length).astype(np.int64)
    memory = np.concatenate([memory[:, :, 1:], newest[:, :, None]], axis=2)
    weighted = np.sum(memory * times.astype(np.int64), axis=2).reshape(-1, filters // rank, rank)
    total = to_int32(np.sum(weighted, axis=2) + bias)
    y = np.clip(rescale(total, multiplier[1], shift[1]) + y_zero, -128, 127)
    return y.astype(np.int8), memory.astype(np.int16).reshape(state.shape)
