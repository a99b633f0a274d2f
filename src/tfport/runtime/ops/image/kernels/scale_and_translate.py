"""ScaleAndTranslate with all of its sampling kernels, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.image.resize_samples import ONE, Taps, checked_size, mix, spread
from tfport.runtime.ops.image.sampling_kernels import KERNELS, SamplingKernel


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
    places = first[:, None] + np.arange(max(int((last - first).max()) + 1, 1))
    x = np.abs((places.astype(np.float32) + np.float32(0.5) - at[:, None]) * (ONE / wide))
    weights = np.where(places <= last[:, None], kernel.weight(np, x), 0).astype(np.float32)
    total = weights.sum(1, keepdims=True)
    counts = (np.abs(total) >= 1000 * np.finfo(np.float32).tiny) & ~outside[:, None]
    weights = np.where(counts, weights * (ONE / total), 0).astype(np.float32)
    return Taps(np.clip(places, 0, in_size - 1), weights)


def _spans(
    in_size: Any, out_size: Any, scale: Any, translation: Any, kernel_type: str, antialias: bool
) -> Any:
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
    rows, columns = _spans(images.shape[1:3], out_size, scale, translation, kernel_type, antialias)
    return mix(images.astype(np.float32), rows, columns)


@host("ScaleAndTranslateGrad")
def scale_and_translate_grad(grads, original_image, scale, translation, *, kernel_type, antialias):
    if grads.ndim != 4 or original_image.ndim != 4:
        raise RunFailed(
            "grads and the original image must have 4 axes, "
            f"found shapes {list(grads.shape)} and {list(original_image.shape)}"
        )
    in_size = original_image.shape[1:3]
    rows, columns = _spans(in_size, grads.shape[1:3], scale, translation, kernel_type, antialias)
    return spread(spread(grads, rows, 1, in_size[0]), columns, 2, in_size[1])
