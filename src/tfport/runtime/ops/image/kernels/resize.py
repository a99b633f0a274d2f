"""Resizing of images: nearest neighbor, bilinear, bicubic and area, with all coordinate conventions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import (
    area,
    checked_size,
    cubic,
    linear,
    mix,
    nearest,
)


def _check_centers(align_corners: bool, half_pixel_centers: bool) -> None:
    if align_corners and half_pixel_centers:
        raise RunFailed("align_corners and half_pixel_centers cannot both be true")


@host("ResizeNearestNeighbor")
def resize_nearest_neighbor(images, size, *, align_corners, half_pixel_centers):
    _check_centers(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    rows = nearest(images.shape[1], height, align_corners, half_pixel_centers)
    columns = nearest(images.shape[2], width, align_corners, half_pixel_centers)
    return images[:, rows[:, None], columns]


@host("ResizeBilinear")
def resize_bilinear(images, size, *, align_corners, half_pixel_centers):
    _check_centers(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    plain = images.astype(np.float32)
    if plain.shape[1:3] == (height, width):
        return plain
    return bilinear(plain, height, width, align_corners, half_pixel_centers)


def bilinear(x: Any, height: int, width: int, align_corners: bool, half_pixel_centers: bool) -> Any:
    top, bottom, down = linear(x.shape[1], height, align_corners, half_pixel_centers)
    left, right, across = linear(x.shape[2], width, align_corners, half_pixel_centers)
    down, across = down[:, None, None], across[:, None]
    above, below = _between(x[:, top], left, right, across), _between(x[:, bottom], left, right, across)
    return above + (below - above) * down


def _between(x: Any, left: Any, right: Any, across: Any) -> Any:
    return x[:, :, left] + (x[:, :, right] - x[:, :, left]) * across


@host("ResizeBicubic")
def resize_bicubic(images, size, *, align_corners, half_pixel_centers):
    _check_centers(align_corners, half_pixel_centers)
    height, width = checked_size(images, size)
    rows = cubic(images.shape[1], height, align_corners, half_pixel_centers)
    columns = cubic(images.shape[2], width, align_corners, half_pixel_centers)
    return mix(images.astype(np.float32), rows, columns)


@host("ResizeArea")
def resize_area(images, size, *, align_corners):
    height, width = checked_size(images, size)
    rows, row_length = area(images.shape[1], height, align_corners)
    columns, column_length = area(images.shape[2], width, align_corners)
    # TensorFlow divides by the area last; otherwise a sum of large pixels rounds differently
    return mix(images.astype(np.float32), rows, columns) * (np.float32(1) / (row_length * column_length))


_BITS = 7
"""Fractional bits of the weights for quantized pixels."""


@host("QuantizedResizeBilinear", T=(DType.parse("quint8"), FLOAT32))
def quantized_resize_bilinear(images, size, min, max, *, align_corners, half_pixel_centers):
    if min.ndim or max.ndim:
        raise RunFailed(f"min and max must be scalars, found shapes {list(min.shape)} and {list(max.shape)}")
    height, width = checked_size(images, size)
    if images.shape[1:3] == (height, width):
        return images, min, max
    if images.dtype == np.float32:
        return bilinear(images, height, width, align_corners, half_pixel_centers), min, max
    top, bottom, row_weights = linear(images.shape[1], height, align_corners, half_pixel_centers)
    left, right, column_weights = linear(images.shape[2], width, align_corners, half_pixel_centers)
    unit = 1 << _BITS
    down = (row_weights[:, None, None] * np.float32(unit)).astype(np.int32)
    across = (column_weights[:, None] * np.float32(unit)).astype(np.int32)
    x = images.astype(np.int32)

    def row(at: Any) -> Any:
        low, high = x[:, at][:, :, left], x[:, at][:, :, right]
        return low * unit + (high - low) * across

    above, below = row(top), row(bottom)
    difference = below - above
    out = above + np.sign(difference) * (np.abs(difference) >> _BITS) * down  # C divides toward zero
    return ((out + unit // 2) >> _BITS).astype(images.dtype), min, max
