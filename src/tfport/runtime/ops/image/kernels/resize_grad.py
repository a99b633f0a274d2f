"""Gradients of the resizing ops with respect to the original image."""

from __future__ import annotations

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import Taps, cubic, linear, nearest, spread
from tfport.runtime.ops.shared.precision import widen


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
    kind = np.float64 if original.dtype == np.float64 else np.float32
    rows = taps(original.shape[1], grads.shape[1], align_corners, half_pixel_centers)
    columns = taps(original.shape[2], grads.shape[2], align_corners, half_pixel_centers)
    wide = spread(grads.astype(kind), rows, 1, original.shape[1])
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
