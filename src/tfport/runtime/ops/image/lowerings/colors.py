"""Adjustment of contrast, hue, saturation and value, lowered to ONNX."""

from __future__ import annotations

from tfport.runtime.lower import CannotLower, lower
from tfport.runtime.ops.image.kernels.colors import yiq_adjustment


@lower("Addons>AdjustHsvInYiq AdjustHsvInYiq")
def adjust_hsv_in_yiq(b, images, delta_h, scale_s, scale_v):
    scalars = [x.array for x in (delta_h, scale_s, scale_v) if x.array is not None and not x.array.ndim]
    if len(scalars) < 3 or images.rank is None or images.rank < 3 or images.shape[-1] != 3:
        raise CannotLower("images have fewer than 3 axes or not 3 channels, or a scalar is not constant")
    return b.MatMul(images, b.const(yiq_adjustment(*scalars), images.dtype))


@lower("AdjustContrastv2")
def adjust_contrast(b, images, contrast_factor):
    if images.rank is None or images.rank < 3 or contrast_factor.rank != 0:
        raise CannotLower("the rank of images is unknown or below 3, or contrast_factor is not a scalar")
    mean = b.ReduceMean(images, b.ints(-3, -2), keepdims=1)
    return b.Add(b.Mul(b.Sub(images, mean), b.cast(contrast_factor, images.dtype)), mean)
