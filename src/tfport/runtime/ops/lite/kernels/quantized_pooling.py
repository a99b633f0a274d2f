"""Pooling and resizing of quantized images, as the reference kernels compute them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import windows


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
    place = np.arange(target) * scale
    if centers:
        place = place + scale // 2 - 512
    low = np.maximum(_over_1024(place), 0)
    high = np.minimum(_over_1024(place + 1023), size - 1)
    return low, high, place - 1024 * low


def _over_1024(x: Any) -> Any:
    """Divided by 1024, towards zero."""
    return np.where(x >= 0, x >> 10, -(-x >> 10))


def real_axis(size: int, target: int, align: bool, centers: bool) -> tuple[Any, Any, Any]:
    """The two positions of each output, and the weight of the second."""
    scale = np.float32(size) / np.float32(max(target, 1))
    if align and target > 1:
        scale = np.float32(size - 1) / np.float32(target - 1)
    place = np.arange(target).astype(np.float32)
    half = np.float32(0.5)
    place = (place + half) * scale - half if centers else place * scale
    low = np.maximum(np.floor(place).astype(np.int64), 0)
    high = np.minimum(np.ceil(place).astype(np.int64), size - 1)
    return low, high, place - low.astype(np.float32)
