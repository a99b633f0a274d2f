"""Activations rounded to the 8-bit steps of their rows, as TensorFlow Lite's hybrid kernels do.

The steps are symmetric (-127 to 127, zero at 0) or asymmetric (-128 to 127, zero at a rounded point).
Halves are rounded away from zero.
"""

from __future__ import annotations

import math

import numpy as np

from tfport.runtime.lower import host


@host("LiteHybridInput")
def hybrid_input(x, *, asymmetric, axis):
    if not x.size:
        return x
    if asymmetric and math.prod(x.shape[:axis]) == 1:
        return _one_row(x)
    axes = tuple(range(axis, x.ndim))
    low, high = x.min(axes, keepdims=True), x.max(axes, keepdims=True)
    if asymmetric:
        return _asymmetric(x, np.minimum(low, 0), np.maximum(high, 0))
    bound = np.maximum(abs(low), abs(high))
    with np.errstate(divide="ignore"):
        steps = np.where(bound, np.float32(127) / bound, np.float32(0))
    return np.clip(_round(x * steps), -127, 127) * (bound / np.float32(127))


def _one_row(x):
    """The same as `_asymmetric` where there is one row, as in each step of a recurrent layer.

    Numbers of Python take a tenth of the time of arrays of one element.
    """
    low, high = float(x.min()), float(x.max())
    if not math.isfinite(high - low):
        shape = (1,) * x.ndim
        return _asymmetric(
            x, np.full(shape, np.minimum(low, 0), "f"), np.full(shape, np.maximum(high, 0), "f")
        )
    low, high = min(low, 0.0), max(high, 0.0)
    scale = (high - low) / 255 or 1.0
    below, above = low / scale, high / scale
    exact = -128 - below if 128 - below < 127 + above else 127 - above
    zero = np.float32(min(max(math.trunc(exact + math.copysign(0.5, exact)), -128), 127))
    step = np.float32(scale)
    q = _round(zero + x * (np.float32(1) / step))
    return (np.minimum(np.maximum(q, np.float32(-128)), np.float32(127)) - zero) * step


def _asymmetric(x, low, high):
    wide_low, wide_high = low.astype(np.float64), high.astype(np.float64)
    scale = (wide_high - wide_low) / 255
    scale[scale == 0] = 1  # a row of zeros stays one
    from_low, from_high = -128 - wide_low / scale, 127 - wide_high / scale
    is_low_nearer = 128 + abs(wide_low / scale) < 127 + abs(wide_high / scale)
    zero = np.clip(_round(np.where(is_low_nearer, from_low, from_high)), -128, 127).astype(np.float32)
    step = scale.astype(np.float32)
    q = np.clip(_round(zero + x * (np.float32(1) / step)), -128, 127)
    return (q - zero) * step


def _round(x):
    return np.trunc(x + np.copysign(x.dtype.type(0.5), x))
