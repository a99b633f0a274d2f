"""Resizing of images with all coordinate conventions, ScaleAndTranslate, and the gradients of both."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import (
    ONE,
    Taps,
    area,
    checked_size,
    cubic,
    linear,
    mix,
    nearest,
    spread,
)
from tfport.runtime.ops.image.sampling_kernels import KERNELS, SamplingKernel
from tfport.runtime.ops.shared.precision import widen


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


# Gradients with respect to the original image


def _check(grads, original):
    if grads.ndim != 4 or original.ndim != 4:
        raise RunFailed(
            "grads and the original image must have 4 axes, "
            f"found shapes {list(grads.shape)} and {list(original.shape)}"
        )
    if grads.shape[0] != original.shape[0] or grads.shape[3] != original.shape[3]:
        raise RunFailed(
            "grads and the original image must have the same batch size and depth, "
            f"found {list(grads.shape)} and {list(original.shape)}"
        )
    if 0 in original.shape[1:3] or 0 in grads.shape[1:3]:
        raise RunFailed(
            f"images must not be empty, found shapes {list(grads.shape)} and {list(original.shape)}"
        )


def _linear_taps(in_size, out_size, align_corners, half_pixel_centers):
    lower, upper, far = linear(in_size, out_size, align_corners, half_pixel_centers)
    return Taps(np.stack([lower, upper], -1), np.stack([np.float32(1) - far, far], -1))


@host("ResizeBilinearGrad")
def resize_bilinear_grad(grads, original_image, *, align_corners, half_pixel_centers):
    return _resize_grad(_linear_taps, grads, original_image, align_corners, half_pixel_centers)


@host("ResizeBicubicGrad")
def resize_bicubic_grad(grads, original_image, *, align_corners, half_pixel_centers):
    return _resize_grad(cubic, grads, original_image, align_corners, half_pixel_centers)


def _resize_grad(taps, grads, original, align_corners, half_pixel_centers):
    _check(grads, original)
    dtype = np.float64 if original.dtype == np.float64 else np.float32
    rows = taps(original.shape[1], grads.shape[1], align_corners, half_pixel_centers)
    columns = taps(original.shape[2], grads.shape[2], align_corners, half_pixel_centers)
    wide = spread(grads.astype(dtype), rows, 1, original.shape[1])
    return spread(wide, columns, 2, original.shape[2])


@host("ResizeNearestNeighborGrad")
def resize_nearest_neighbor_grad(grads, size, *, align_corners, half_pixel_centers):
    if grads.ndim != 4 or size.shape != (2,):
        raise RunFailed(
            "grads must have 4 axes, and size must have 2 elements, "
            f"found shapes {list(grads.shape)} and {list(size.shape)}"
        )
    height, width = int(size[0]), int(size[1])
    if height <= 0 or width <= 0 or 0 in grads.shape[1:3]:
        raise RunFailed(
            f"images must not be empty, found grads of shape {list(grads.shape)} and size {[height, width]}"
        )
    rows = nearest(height, grads.shape[1], align_corners, half_pixel_centers)
    columns = nearest(width, grads.shape[2], align_corners, half_pixel_centers)
    moved = np.moveaxis(widen(grads), 0, 2)
    out = np.zeros((height, width, grads.shape[0], grads.shape[3]), moved.dtype)
    np.add.at(out, (rows[:, None], columns), moved)
    return np.moveaxis(out, 2, 0)


# ScaleAndTranslate with all of its sampling kernels, and its gradient


def _sample_taps(
    kernel: SamplingKernel, in_size: int, out_size: int, scale: Any, move: Any, antialias: bool
) -> Taps:
    """The input pixels that the kernel covers for each output pixel, and their weights."""
    back = ONE / scale
    at = (np.arange(out_size).astype(np.float32) + np.float32(0.5)) * back + -back * move
    wide = max(back, ONE) if antialias else ONE
    reach = np.float32(kernel.radius) * wide
    first = np.clip(np.ceil(at - reach - np.float32(0.5)).astype(np.int64), 0, in_size - 1)
    last = np.clip(np.floor(at + reach - np.float32(0.5)).astype(np.int64), 0, in_size - 1)
    outside = (at < 0) | (at > in_size)
    indices = first[:, None] + np.arange(max(int((last - first).max()) + 1, 1))
    x = np.abs((indices.astype(np.float32) + np.float32(0.5) - at[:, None]) * (ONE / wide))
    weights = np.where(indices <= last[:, None], kernel.weight(np, x), 0).astype(np.float32)
    total = weights.sum(1, keepdims=True)
    counts = (np.abs(total) >= 1000 * np.finfo(np.float32).tiny) & ~outside[:, None]
    weights = np.where(counts, weights * (ONE / total), 0).astype(np.float32)
    return Taps(np.clip(indices, 0, in_size - 1), weights)


def sampled_taps(
    in_size: Any, out_size: Any, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> list[Taps]:
    """The taps of the rows and of the columns."""
    if kernel_type not in KERNELS:
        raise RunFailed(f"unknown kernel_type {kernel_type}")
    if scale.shape != (2,) or translation.shape != (2,) or not np.all(scale > 0):
        raise RunFailed(
            "scale and translation must have 2 elements each, and scale must be positive, "
            f"found {scale.tolist()} and {translation.tolist()}"
        )
    kernel = KERNELS[kernel_type]
    return [
        _sample_taps(kernel, in_size[k], out_size[k], scale[k], translation[k], antialias) for k in (0, 1)
    ]


@host("ScaleAndTranslate")
def scale_and_translate(images, size, scale, translation, *, kernel_type, antialias):
    out_size = checked_size(images, size)
    rows, columns = sampled_taps(images.shape[1:3], out_size, scale, translation, kernel_type, antialias)
    return mix(images.astype(np.float32), rows, columns)


@host("ScaleAndTranslateGrad")
def scale_and_translate_grad(grads, original_image, scale, translation, *, kernel_type, antialias):
    if grads.ndim != 4 or original_image.ndim != 4:
        raise RunFailed(
            "grads and the original image must have 4 axes, "
            f"found shapes {list(grads.shape)} and {list(original_image.shape)}"
        )
    in_size = original_image.shape[1:3]
    rows, columns = sampled_taps(in_size, grads.shape[1:3], scale, translation, kernel_type, antialias)
    return spread(spread(grads, rows, 1, in_size[0]), columns, 2, in_size[1])
