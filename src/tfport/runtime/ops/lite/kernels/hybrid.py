"""Activations rounded to the 8-bit steps of their rows, as TensorFlow Lite's hybrid kernels do.

The steps are symmetric (-127 to 127, zero at 0) or asymmetric (-128 to 127, zero at a rounded point).
Halves are rounded away from zero.
"""

from __future__ import annotations

import numpy as np

from tfport.runtime.lower import host, shapes


@host("LiteHybridInput")
def hybrid_input(x, *, asymmetric, axis):
    if not x.size:
        return x
    axes = tuple(range(axis, x.ndim))
    low, high = x.min(axes, keepdims=True), x.max(axes, keepdims=True)
    if asymmetric:
        return _asymmetric(x, np.minimum(low, 0), np.maximum(high, 0))
    bound = np.maximum(abs(low), abs(high))
    with np.errstate(divide="ignore"):
        steps = np.where(bound, np.float32(127) / bound, np.float32(0))
    return np.clip(_round(x * steps), -127, 127) * (bound / np.float32(127))


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


@shapes("LiteHybridInput")
def same_shape(inputs, attrs):
    return [inputs[0].shape]
