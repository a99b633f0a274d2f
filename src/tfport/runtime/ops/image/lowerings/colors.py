"""Adjustment of contrast, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower


@lower("AdjustContrastv2")
def adjust_contrast(b, images, contrast_factor):
    if images.rank is None or images.rank < 3 or contrast_factor.rank != 0:
        raise CannotLower("the rank of images is unknown or below 3, or contrast_factor is not a scalar")
    mean = b.ReduceMean(images, b.ints(-3, -2), keepdims=1)
    return b.Add(b.Mul(b.Sub(images, mean), b.cast(contrast_factor, images.dtype)), mean)
