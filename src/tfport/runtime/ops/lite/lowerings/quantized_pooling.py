"""Pooling and resizing of quantized images, lowered to ONNX."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.quantized_value import INT8, UINT8
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.ops.lite.kernels.quantized_pooling import integer_axis, real_axis
from tfport.runtime.ops.lite.quantized_onnx import clipped, dequantized, quantized
from tfport.runtime.ops.nn.onnx_layouts import (
    channels_second,
    from_channels_second,
    padding_attributes,
)
from tfport.runtime.ops.nn.windows import DataLayout

NHWC = DataLayout("NHWC")
AWAY = 1 - 2.0**-15
"""A scale that moves averages away from zero, by less than they are from the next half and more than their
rounding errors: so exact halves are rounded away from zero."""
MOST_ELEMENTS = 49


@lower("LiteAveragePool")
def average_pool(b, x, *, T, ksize, strides, padding, offset, low, high):
    plain = channels_second(b, x, NHWC)
    pads = padding_attributes(plain, ksize, strides, [1, 1], padding, ())
    if pads is None:
        raise CannotLower("the padding depends on unknown sizes")
    is_small = T == UINT8 and ksize[0] * ksize[1] <= MOST_ELEMENTS
    channels, is_whole = plain.shape and plain.shape[1], pads.get("pads") == [0] * 4
    if is_small and channels and is_whole and 0 <= offset <= 255:
        y = _by_convolution(b, plain, channels, ksize, strides, offset)
        return clipped(b, from_channels_second(b, y, NHWC), low, high)
    inner = channels_second(b, dequantized(b, x, 1.0, offset), NHWC)
    scale = AWAY if is_small else 1.0
    y = b.AveragePool(inner, kernel_shape=list(ksize), strides=list(strides), count_include_pad=0, **pads)
    return quantized(b, from_channels_second(b, y, NHWC), scale, offset, T, low, high)


def _by_convolution(b, x, channels, ksize, strides, offset):
    """The average of whole windows, as a convolution: its kernel takes a fifth of the time of the pooling."""
    weights = np.ones((channels, 1, *ksize), np.int8)
    share, zero = 1 / (ksize[0] * ksize[1]), b.const(offset, UINT8)
    return b.QLinearConv(
        x, b.const(1, FLOAT32), zero, b.const(weights, INT8), b.const(share, FLOAT32), b.const(0, INT8),
        b.const(AWAY, FLOAT32), zero, kernel_shape=list(ksize), strides=list(strides), group=channels,
    )  # fmt: skip


@lower("LiteResizeBilinear")
def resize_bilinear(b, x, size, *, T, align_corners, half_pixel_centers, offset, in_integers):
    """Rows, then columns, from the same positions and weights as in fixed point."""
    if size.array is None or x.shape is None or None in x.shape[1:3]:
        raise CannotLower("a size is unknown")
    y = dequantized(b, x, 1.0, offset)
    for axis, target in zip((1, 2), size.array, strict=True):
        positions = integer_axis if in_integers else real_axis
        first, second, weight = positions(x.shape[axis], int(target), align_corners, half_pixel_centers)
        share = (weight / 1024 if in_integers else weight).reshape(-1, *[1] * (3 - axis))
        parts = [b.Gather(y, b.ints(*places.tolist()), axis=axis) for places in (first, second)]
        y = b.Add(b.Mul(parts[0], b.const(1 - share, FLOAT32)), b.Mul(parts[1], b.const(share, FLOAT32)))
    low, high = (0, 255) if T == UINT8 else (-32768, 32767)
    return quantized(b, y, AWAY if T == UINT8 else 1.0, offset, T, low, high)
