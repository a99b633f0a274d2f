"""Operations on images, and in windows: resizing, pooling, convolution, patches, padding."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.frontends.keras.data_format import CHANNELS_FIRST, channels_last, per_axis
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.aspect_ratio import cropped_to_ratio, padded_to_ratio
from tfport.frontends.keras.promotion import tensors_of
from tfport.frontends.keras.resize import resize
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import convolve, convolve_depthwise, pool
from tfport.graph.building.arrays import expand_dims, pad, reshape, slice_axis, squeeze, transpose
from tfport.graph.building.sizes import sizes


@layer("ops.Resize")
def resize_operation(
    b: LayerBuilder,
    images: LayerTensor,
    *,
    size: Any,
    interpolation: str = "bilinear",
    antialias: bool = False,
    crop_to_aspect_ratio: bool = False,
    pad_to_aspect_ratio: bool = False,
    fill_mode: str = "constant",
    fill_value: float = 0.0,
    data_format: str | None = None,
) -> LayerTensor:
    height, width = per_axis(b, size, 2)

    def resized(x: LayerTensor) -> LayerTensor:
        if crop_to_aspect_ratio:
            x = cropped_to_ratio(b, x, height, width)
        elif pad_to_aspect_ratio:
            x = padded_to_ratio(b, x, height, width, fill_value)
        return resize(b, x, height, width, interpolation, antialias=antialias)

    if images.rank == 3:
        return squeeze(b, channels_last(b, data_format, expand_dims(b, images, 0), resized), 0)
    return channels_last(b, data_format, images, resized)


@layer("ops.MaxPool ops.AveragePool")
def pool_operation(
    b: LayerBuilder,
    inputs: LayerTensor,
    *,
    pool_size: Any,
    strides: Any = None,
    padding: str = "valid",
    data_format: str | None = None,
) -> LayerTensor:
    window = per_axis(b, pool_size, inputs.rank - 2)
    steps = window if strides is None else per_axis(b, strides, inputs.rank - 2)
    op = "MaxPool" if b.instance.config.class_name == "MaxPool" else "AvgPool"
    return channels_last(b, data_format, inputs, lambda x: pool(b, op, x, window, steps, padding))


@layer("ops.Conv ops.DepthwiseConv")
def conv_operation(
    b: LayerBuilder,
    inputs: LayerTensor,
    kernel: Any,
    *,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> LayerTensor:
    steps, dilations = (per_axis(b, option, inputs.rank - 2) for option in (strides, dilation_rate))
    function = convolve if b.instance.config.class_name == "Conv" else convolve_depthwise
    (weights,) = tensors_of(b, kernel)
    return channels_last(b, data_format, inputs, lambda x: function(b, x, weights, steps, padding, dilations))


@layer("ops.SeparableConv")
def separable_conv_operation(
    b: LayerBuilder,
    inputs: LayerTensor,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    *,
    strides: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Any = 1,
) -> LayerTensor:
    spatial = inputs.rank - 2
    steps, dilations = (per_axis(b, option, spatial) for option in (strides, dilation_rate))
    depthwise, pointwise = tensors_of(b, depthwise_kernel, pointwise_kernel)

    def convolved(x: LayerTensor) -> LayerTensor:
        y = convolve_depthwise(b, x, depthwise, steps, padding, dilations)
        return convolve(b, y, pointwise, [1] * spatial, "valid", [1] * spatial)

    return channels_last(b, data_format, inputs, convolved)


@layer("ops.SpaceToDepth ops.DepthToSpace")
def blocks(
    b: LayerBuilder, x: LayerTensor, *, block_size: int, data_format: str | None = None
) -> LayerTensor:
    """Blocks of pixels as channels, or channels as blocks of pixels."""
    op = b.instance.config.class_name

    def rearranged(images: LayerTensor) -> LayerTensor:
        return b.result(op, images, block_size=block_size)

    return channels_last(b, data_format, x, rearranged)


# Patches, borders, and windows as columns

LARGEST_KERNEL = 1 << 24
"""The elements of a kernel that only copies; a file must not ask for more memory than that."""


@layer("ops.ExtractPatches")
def extract_patches(
    b: LayerBuilder,
    images: LayerTensor,
    *,
    size: Any,
    strides: Any = None,
    dilation_rate: Any = 1,
    padding: str = "valid",
    data_format: str | None = None,
) -> LayerTensor:
    """The elements of each patch as channels, row by row."""
    count = 2 if isinstance(size, int) else len(size)
    window = per_axis(b, size, count)
    steps = window if strides is None else per_axis(b, strides, count)
    dilations = per_axis(b, dilation_rate, count)

    def patches(x: LayerTensor) -> LayerTensor:
        if count == 2:
            return _image_patches(b, x, window, steps, dilations, padding)
        area = math.prod(window) * (x.shape[-1] or 0)
        if not 0 < area**2 <= LARGEST_KERNEL:
            raise b.refuse(f"its patches have {area} elements, which is unknown or too many")
        kernel = np.eye(area).reshape(*window, x.shape[-1] or 0, area)
        return convolve(b, x, b.constant(kernel, x.dtype), steps, padding, dilations)

    if images.rank == count + 1:
        return squeeze(b, channels_last(b, data_format, expand_dims(b, images, 0), patches), 0)
    return channels_last(b, data_format, images, patches)


def _image_patches(
    b: LayerBuilder,
    x: LayerTensor,
    window: tuple[int, ...],
    strides: tuple[int, ...],
    dilations: tuple[int, ...],
    padding: str,
) -> LayerTensor:
    return b.ExtractImagePatches(
        x, ksizes=[1, *window, 1], strides=[1, *strides, 1], rates=[1, *dilations, 1], padding=padding.upper()
    )


@layer("ops.Unfold")
def unfold(
    b: LayerBuilder, x: LayerTensor, *, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> LayerTensor:
    """The windows of channels-first images as columns: `(batch, channels * window, windows)`."""
    window, dilations, around, steps = (per_axis(b, o, 2) for o in (kernel_size, dilation, padding, stride))
    x = pad(b, x, [(0, 0), (0, 0), *((n, n) for n in around)])
    x = transpose(b, x, (0, 2, 3, 1))
    patches = _image_patches(b, x, window, steps, dilations, "valid")
    batch, height, width, elements = sizes(b, patches)
    channels = sizes(b, x)[3]
    patches = reshape(b, patches, (batch, height, width, *window, channels))
    columns = transpose(b, patches, (0, 5, 3, 4, 1, 2))
    known = (x.shape[0], patches.shape[1], patches.shape[2])
    count = None if known[1] is None or known[2] is None else known[1] * known[2]
    result = reshape(b, columns, (batch, elements, None if count is None else count))
    whole = elements if isinstance(elements, int) else None
    return b.tensor(result.value, (x.shape[0], whole, count))


@layer("ops.PadImages")
def pad_images(
    b: LayerBuilder,
    images: LayerTensor,
    *,
    top_padding: int | None = None,
    left_padding: int | None = None,
    bottom_padding: int | None = None,
    right_padding: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> LayerTensor:
    """Zeros around images; what is not stated follows from the size of the result."""
    rows, columns = _sides(images, data_format)
    pairs = [(0, 0)] * images.rank
    pairs[rows] = _both(b, images.shape[rows], top_padding, bottom_padding, target_height, 1)
    pairs[columns] = _both(b, images.shape[columns], left_padding, right_padding, target_width, 1)
    return pad(b, images, pairs)


@layer("ops.CropImages")
def crop_images(
    b: LayerBuilder,
    images: LayerTensor,
    *,
    top_cropping: int | None = None,
    left_cropping: int | None = None,
    bottom_cropping: int | None = None,
    right_cropping: int | None = None,
    target_height: int | None = None,
    target_width: int | None = None,
    data_format: str | None = None,
) -> LayerTensor:
    """The inner part of images."""
    rows, columns = _sides(images, data_format)
    top, bottom = _both(b, images.shape[rows], top_cropping, bottom_cropping, target_height, -1)
    left, right = _both(b, images.shape[columns], left_cropping, right_cropping, target_width, -1)
    images = slice_axis(b, images, rows, top, -bottom or None)
    return slice_axis(b, images, columns, left, -right or None)


def _sides(images: LayerTensor, data_format: str | None) -> tuple[int, int]:
    """The axes of height and width."""
    rows = images.rank - (2 if data_format == CHANNELS_FIRST else 3)
    return rows, rows + 1


def _both(
    b: LayerBuilder, size: int | None, before: int | None, after: int | None, target: int | None, sign: int
) -> tuple[int, int]:
    """What is added (sign 1) or removed (-1) before and after an axis, of which two facts are stated."""
    if before is not None and after is not None:
        return before, after
    if size is None or target is None:
        raise b.refuse("its borders follow from a size that is unknown")
    difference = sign * (target - size)
    if before is None:
        before = difference - (after or 0)
    return before, difference - before
