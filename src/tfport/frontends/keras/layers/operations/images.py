"""Operations on images, and in windows: resizing, pooling, convolution."""

from __future__ import annotations

from typing import Any

from tfport.frontends.keras.arrays import expand_dims, squeeze
from tfport.frontends.keras.data_format import channels_last, per_axis
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.preprocessing.aspect_ratio import cropped_to_ratio, padded_to_ratio
from tfport.frontends.keras.promotion import tensors_of
from tfport.frontends.keras.resize import resize
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import convolve, convolve_depthwise, pool


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
    op, area = b.instance.config.class_name, block_size**2

    def rearranged(images: LayerTensor) -> LayerTensor:
        *spatial, channels = images.shape[1:]
        if op == "SpaceToDepth":
            dims = [None if size is None else size // block_size for size in spatial]
            dims.append(None if channels is None else channels * area)
        else:
            dims = [None if size is None else size * block_size for size in spatial]
            dims.append(None if channels is None else channels // area)
        return b.tensor(b.node(op, images, block_size=block_size), (images.shape[0], *dims))

    return channels_last(b, data_format, x, rearranged)
