"""Convolution, pooling and resizing of quantized images, as the reference kernels compute them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.fixed_point import rescale, rescale_wide, round_away, to_int32
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import convolve
from tfport.runtime.ops.nn.windows import same_pads, windows


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


@host("LiteTransposeConv")
def lite_transpose_conv(
    size, x, filter, bias, *, T, strides, padding, multiplier, shift, x_zero, filter_zero, y_zero, low, high
):
    """Each input adds its product with the filter (height, width, outputs, inputs) to a window of outputs."""
    image, weights = centered(x, x_zero), centered(filter, filter_zero)
    target, kernel = [int(n) for n in size[1:3]], filter.shape[:2]
    before = transposed_pads(target, kernel, strides, padding)
    extents = [max((n - 1) * s + k, p + t) for n, s, k, p, t in
               zip(x.shape[1:3], strides, kernel, before, target, strict=True)]  # fmt: skip
    sums = np.zeros((x.shape[0], *extents, filter.shape[2]))
    for tap in np.ndindex(*kernel):
        rows, columns = (
            slice(t, t + (n - 1) * s + 1, s) for t, n, s in zip(tap, x.shape[1:3], strides, strict=True)
        )
        sums[:, rows, columns] += image @ weights[tap].T
    (top, left), (height, width) = before, target
    inner = sums[:, top : top + height, left : left + width].astype(np.int64)
    return requantized(inner, bias, multiplier, shift, y_zero, low, high).astype(T.numpy)


def transposed_pads(target: Any, kernel: Any, strides: Any, padding: str) -> list[int]:
    """What is cut off at the start of the sums: the padding of the convolution that goes back."""
    if padding != "SAME":
        return [0, 0]
    axes = zip(target, kernel, strides, strict=True)
    return [same_pads(int(n), k, s, 1)[0] for n, k, s in axes]


@host("LiteBatchMatMul")
def lite_batch_matmul(x, other, *, T, adj_x, adj_y, multiplier, shift, x_zero, other_zero, y_zero, low, high):
    left, right = centered(x, x_zero), centered(other, other_zero)
    left = np.swapaxes(left, -1, -2) if adj_x else left
    right = np.swapaxes(right, -1, -2) if adj_y else right
    sums = (left @ right).astype(np.int64)
    bias = np.zeros((), np.int64 if x.dtype == np.int16 else np.int32)
    return requantized(sums, bias, multiplier, shift, y_zero, low, high).astype(T.numpy)


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


# Pooling and resizing


@host("LiteAveragePool")
def average_pool(x, *, T, ksize, strides, padding, offset, low, high):
    """Halves are rounded away from the value `offset`; padding does not count."""
    win = windows(x.shape[1:3], ksize, strides, [1, 1], padding)
    values = win.padded(x.astype(np.int64) - offset)
    inside = win.padded(np.ones((1, *x.shape[1:3], 1), np.int64))
    total = sum(values[win.slices(tap)] for tap in win.taps())
    count = np.maximum(sum(inside[win.slices(tap)] for tap in win.taps()), 1)
    size = (np.abs(total) + count // 2) // count
    return np.clip(np.where(total > 0, size, -size) + offset, low, high).astype(T.numpy)


@host("LiteResizeBilinear")
def resize_bilinear(x, size, *, T, align_corners, half_pixel_centers, offset, in_integers):
    axes = [
        (integer_axis if in_integers else real_axis)(n, int(m), align_corners, half_pixel_centers)
        for n, m in zip(x.shape[1:3], size, strict=True)
    ]
    (top, bottom, down), (left, right, along) = axes
    down, along = down[None, :, None, None], along[None, None, :, None]
    if in_integers:
        values = x.astype(np.int64) - offset
        low, high = values[:, top], values[:, bottom]
        rest_down, rest_along = 1024 - down, 1024 - along
        total = (
            low[:, :, left] * rest_down * rest_along + high[:, :, left] * down * rest_along
            + low[:, :, right] * rest_down * along + high[:, :, right] * down * along
        )  # fmt: skip
        rounded = (np.abs(total) + (1 << 19)) >> 20
        return (np.where(total > 0, rounded, -rounded) + offset).astype(T.numpy)
    values, rest_down, rest_along = x.astype(np.float32), np.float32(1) - down, np.float32(1) - along
    low, high = values[:, top], values[:, bottom]
    total = (
        low[:, :, left] * rest_down * rest_along + high[:, :, left] * down * rest_along
        + low[:, :, right] * rest_down * along + high[:, :, right] * down * along
    )  # fmt: skip
    return (total + np.float32(0.5)).astype(T.numpy)


def integer_axis(size: int, target: int, align: bool, centers: bool) -> tuple[Any, Any, Any]:
    """The two positions of each output, and the weight of the second in 1/1024."""
    scale = (1024 * size + target // 2) // max(target, 1)
    if align and target > 1:
        scale = (1024 * (size - 1) + (target - 1) // 2) // (target - 1)
    position = np.arange(target) * scale
    if centers:
        position = position + scale // 2 - 512
    low = np.maximum(_over_1024(position), 0)
    high = np.minimum(_over_1024(position + 1023), size - 1)
    return low, high, position - 1024 * low


def _over_1024(x: Any) -> Any:
    """Divided by 1024, towards zero."""
    return np.where(x >= 0, x >> 10, -(-x >> 10))


def real_axis(size: int, target: int, align: bool, centers: bool) -> tuple[Any, Any, Any]:
    """The two positions of each output, and the weight of the second."""
    scale = np.float32(size) / np.float32(max(target, 1))
    if align and target > 1:
        scale = np.float32(size - 1) / np.float32(target - 1)
    position = np.arange(target).astype(np.float32)
    half = np.float32(0.5)
    position = (position + half) * scale - half if centers else position * scale
    low = np.maximum(np.floor(position).astype(np.int64), 0)
    high = np.minimum(np.ceil(position).astype(np.int64), size - 1)
    return low, high, position - low.astype(np.float32)
