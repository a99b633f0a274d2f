"""Convolution, pooling and resizing of quantized images, lowered to ONNX.

Convolutions of bytes use QLinearConv. For 16 bits, the sums are computed in float32: their error is far below
one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.lite.quantized_value import INT8, UINT8
from tfport.graph.dtypes import FLOAT32
from tfport.runtime.lower import CannotLower, constant_of, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.lite.kernels.quantized_convolution import integer_axis, real_axis, transposed_pads
from tfport.runtime.ops.lite.quantized_onnx import clipped, dequantized, factor, factors, quantized
from tfport.runtime.ops.nn.onnx_layouts import (
    channels_second,
    from_channels_second,
    pad_same,
    padding_attributes,
)
from tfport.runtime.ops.nn.windows import DataLayout

NHWC = DataLayout("NHWC")
TINY = np.float32(1e-30)
"""The scale of channels whose outputs are all zero."""
AWAY = 1 - 2.0**-15
"""A scale that moves averages away from zero, by less than they are from the next half and more than their
rounding errors: so exact halves are rounded away from zero."""
MOST_ELEMENTS = 49


@lower("LiteConv")
def lite_conv(
    b, x, filter, bias, *, U, strides, dilations, padding, groups, multiplier, shift, x_zero, filter_zero,
    y_zero, low, high, scales,
):  # fmt: skip
    window = {"strides": strides, "dilations": dilations, "group": groups}
    if x.dtype == UINT8 == U and bias.dtype.name == "int32":
        return _bytes(
            b, x, filter, bias, padding, window, factors(multiplier, shift), x_zero, filter_zero, y_zero,
            low, high,
        )  # fmt: skip
    weights = constant_of(filter, "the filter").astype(np.float32) - filter_zero
    scaled = weights * factors(multiplier, shift)
    added = constant_of(bias, "the bias").astype(np.float64) * factors(multiplier, shift)
    real = dequantized(b, x, 1.0, x_zero)
    operands = [b.const(scaled.transpose(3, 2, 0, 1), FLOAT32), b.const(added, FLOAT32)]
    y = _windowed(b, real, "Conv", operands, filter.shape[:2], padding, window, 0)
    return quantized(b, from_channels_second(b, y, NHWC), 1.0, y_zero, U, low, high)


@lower("LiteTransposeConv")
def lite_transpose_conv(
    b, size, x, filter, bias, *, T, strides, padding, multiplier, shift, x_zero, filter_zero, y_zero, low,
    high,
):  # fmt: skip
    target = [int(n) for n in constant_of(size, "the size")[1:3]]
    if x.shape is None or None in x.shape[1:3]:
        raise CannotLower("the size of the input is unknown")
    kernel = filter.shape[:2]
    before = transposed_pads(target, kernel, strides, padding)
    after = [
        (n - 1) * s + k - p - t for n, s, k, p, t in
        zip(x.shape[1:3], strides, kernel, before, target, strict=True)
    ]  # fmt: skip
    if min(after) < 0:
        raise CannotLower("the output is larger than the windows")
    scales = factors(multiplier, shift)
    weights = (constant_of(filter, "the filter").astype(np.float32) - filter_zero) * scales[:, None]
    added = constant_of(bias, "the bias").astype(np.float64) * scales
    inner = channels_second(b, dequantized(b, x, 1.0, x_zero), NHWC)
    y = b.ConvTranspose(
        inner, b.const(weights.transpose(3, 2, 0, 1), FLOAT32), b.const(added, FLOAT32),
        strides=list(strides), kernel_shape=list(kernel), pads=[*before, *after],
    )  # fmt: skip
    y.shape = (x.shape[0], len(scales), *target)
    return quantized(b, from_channels_second(b, y, NHWC), 1.0, y_zero, T, low, high)


@lower("LiteBatchMatMul")
def lite_batch_matmul(
    b, x, other, *, T, adj_x, adj_y, multiplier, shift, x_zero, other_zero, y_zero, low, high
):
    left, right = (_transposed(b, o, adjoint) for o, adjoint in ((x, adj_x), (other, adj_y)))
    scale = factor(multiplier, shift)
    if T != UINT8 or scale <= 0 or not 0 <= y_zero <= 255:
        product = b.MatMul(dequantized(b, left, scale, x_zero), dequantized(b, right, 1.0, other_zero))
        return quantized(b, product, 1.0, y_zero, T, low, high)
    unit, zero = b.const(1, FLOAT32), b.const(x_zero, UINT8)
    y = b.QLinearMatMul(
        left, b.const(scale, FLOAT32), zero, right, unit, b.const(other_zero, UINT8), unit,
        b.const(y_zero, UINT8),
    )  # fmt: skip
    return clipped(b, y, low, high)


def _transposed(b: Builder, x: Operand, adjoint: bool) -> Operand:
    if not adjoint:
        return x
    rank = rank_of(x)
    return b.transpose(x, [*range(rank - 2), rank - 1, rank - 2])


def _bytes(
    b: Builder, x: Operand, filter: Operand, bias: Operand, padding: str, window: dict[str, Any],
    scales: Any, x_zero: int, filter_zero: int, y_zero: int, low: int, high: int,
) -> Operand:  # fmt: skip
    if not 0 <= y_zero <= 255 or not 0 <= x_zero <= 255:
        raise CannotLower("a zero point is not a byte")
    scales = np.maximum(scales, TINY)
    single = scales[:1].reshape(()) if np.all(scales == scales[0]) else scales
    sizes = [n for n in filter.shape or () if n is not None]
    weights = b.transpose(filter, (3, 2, 0, 1))
    operands = [
        b.const(1, FLOAT32), b.const(x_zero, UINT8), weights, b.const(single, FLOAT32),
        b.const(np.full(single.shape, filter_zero), INT8), b.const(1, FLOAT32), b.const(y_zero, UINT8), bias,
    ]  # fmt: skip
    y = _windowed(b, x, "QLinearConv", operands, sizes[:2], padding, window, x_zero)
    return clipped(b, from_channels_second(b, y, NHWC), low, high)


def _windowed(
    b: Builder, x: Operand, op: str, operands: Sequence[Operand], kernel: Sequence[int], padding: str,
    window: dict[str, Any], zero: int,
) -> Operand:  # fmt: skip
    inner = channels_second(b, x, NHWC)
    strides, dilations = window["strides"], window["dilations"]
    pads = padding_attributes(inner, kernel, strides, dilations, padding, ())
    if pads is None:
        inner, pads = pad_same(b, inner, kernel, strides, dilations, zero), {}
    return b.nodes(op, inner, *operands, kernel_shape=list(kernel), **window, **pads)[0]


# Pooling and resizing


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
        parts = [b.Gather(y, b.ints(*indices.tolist()), axis=axis) for indices in (first, second)]
        y = b.Add(b.Mul(parts[0], b.const(1 - share, FLOAT32)), b.Mul(parts[1], b.const(share, FLOAT32)))
    low, high = (0, 255) if T == UINT8 else (-32768, 32767)
    return quantized(b, y, AWAY if T == UINT8 else 1.0, offset, T, low, high)
