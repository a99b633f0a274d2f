"""Convolutions, transposed ones, and those that treat each channel alone."""

from __future__ import annotations

from tfport.formats.keras.records import Json
from tfport.frontends.keras.activations import activate
from tfport.frontends.keras.data_format import (
    CHANNELS_FIRST,
    channels_last,
    per_axis,
    spatial_axes,
    spatial_rank,
)
from tfport.frontends.keras.kernels.kernel_forms import kernel_and_bias, kernel_forms, transposed_kernel_forms
from tfport.frontends.keras.layer import layer
from tfport.frontends.keras.layer_builder import LayerBuilder
from tfport.frontends.keras.tensor import LayerTensor
from tfport.frontends.keras.windows import (
    convolve,
    convolve_depthwise,
    convolve_transposed,
    with_one_batch_axis,
)
from tfport.graph.building.arrays import reshape


@layer("Conv1D Conv2D Conv3D")
def convolution(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    filters: int,
    kernel_size: Json,
    strides: Json = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Json = 1,
    groups: int = 1,
    activation: Json = None,
    use_bias: bool = True,
    lora_rank: int | None = None,
    lora_alpha: float | None = None,
) -> LayerTensor:
    n = spatial_rank(b)
    window, steps, dilations = (per_axis(b, option, n) for option in (kernel_size, strides, dilation_rate))

    def convolved(images: LayerTensor) -> LayerTensor:
        channels = images.shape[-1]
        shape = (*window, None if channels is None else channels // groups, filters)
        forms = kernel_forms(b, shape, data_format)
        bias_shape = (filters,) if use_bias else None
        kernel, bias = kernel_and_bias(b, shape, bias_shape, lora_rank, lora_alpha, forms)
        if 1 < groups == channels and n < 3 and len(set(steps)) == 1:  # more processors can do this
            each = reshape(b, kernel, (*window, channels, filters // channels))
            y = convolve_depthwise(b, images, each, steps, padding, dilations)
        else:
            y = convolve(b, images, kernel, steps, padding, dilations)
        return y if bias is None else b.BiasAdd(y, bias)

    if x.rank > n + 2 and data_format == CHANNELS_FIRST:
        raise b.refuse("it has several batch axes with the channels first, which tfport does not build")
    y = with_one_batch_axis(b, x, n, lambda images: channels_last(b, data_format, images, convolved))
    return activate(b, activation, y)


@layer("Conv1DTranspose Conv2DTranspose Conv3DTranspose")
def transposed_convolution(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    filters: int,
    kernel_size: Json,
    strides: Json = 1,
    padding: str = "valid",
    output_padding: Json = None,
    data_format: str | None = None,
    dilation_rate: Json = 1,
    groups: int = 1,
    activation: Json = None,
    use_bias: bool = True,
    output_shape: Json = None,
) -> LayerTensor:
    """`output_shape` is an option of Keras 1: the sizes of the result."""
    n = spatial_rank(b)
    window, steps, dilations = (per_axis(b, option, n) for option in (kernel_size, strides, dilation_rate))
    lengths = [output_shape[axis] for axis in spatial_axes(data_format, n + 2)] if output_shape else None
    extra = [None] * n if output_padding is None else per_axis(b, output_padding, n)
    if groups != 1:
        raise b.refuse("a transposed convolution with groups, which no version of Keras computes")

    def spread(images: LayerTensor) -> LayerTensor:
        shape = (*window, filters, images.shape[-1])
        kernel = b.weight("kernel", shape, forms=transposed_kernel_forms(b, shape, data_format))
        y = convolve_transposed(b, images, kernel, steps, padding, dilations, extra, lengths)
        return biased(b, y, use_bias)

    return activate(b, activation, channels_last(b, data_format, x, spread))


@layer("DepthwiseConv1D DepthwiseConv2D")
def depthwise_convolution(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    kernel_size: Json,
    strides: Json = 1,
    padding: str = "valid",
    depth_multiplier: int = 1,
    data_format: str | None = None,
    dilation_rate: Json = 1,
    activation: Json = None,
    use_bias: bool = True,
    groups: int = 1,
    rank: int = 2,
) -> LayerTensor:
    """Some releases store `groups` and `rank`, which change nothing."""
    n = spatial_rank(b)
    window, steps, dilations = (per_axis(b, option, n) for option in (kernel_size, strides, dilation_rate))
    name = "depthwise_kernel" if b.version.major < 3 else "kernel"

    def convolved(images: LayerTensor) -> LayerTensor:
        kernel = b.weight(name, (*window, images.shape[-1], depth_multiplier))
        return biased(b, convolve_depthwise(b, images, kernel, steps, padding, dilations), use_bias)

    return activate(b, activation, channels_last(b, data_format, x, convolved))


@layer("SeparableConv1D SeparableConv2D")
def separable_convolution(
    b: LayerBuilder,
    x: LayerTensor,
    *,
    filters: int,
    kernel_size: Json,
    strides: Json = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: Json = 1,
    depth_multiplier: int = 1,
    activation: Json = None,
    use_bias: bool = True,
    groups: int = 1,
    rank: int = 2,
) -> LayerTensor:
    """Each channel alone, then all channels at each position."""
    n = spatial_rank(b)
    window, steps, dilations = (per_axis(b, option, n) for option in (kernel_size, strides, dilation_rate))

    def convolved(images: LayerTensor) -> LayerTensor:
        shape = (*window, images.shape[-1], depth_multiplier)
        depthwise = b.weight("depthwise_kernel", shape, forms=kernel_forms(b, shape, data_format))
        shape = (*[1] * n, (images.shape[-1] or 0) * depth_multiplier, filters)
        pointwise = b.weight("pointwise_kernel", shape, forms=kernel_forms(b, shape, data_format))
        y = convolve_depthwise(b, images, depthwise, steps, padding, dilations)
        return biased(b, convolve(b, y, pointwise, [1] * n, "valid", [1] * n), use_bias)

    return activate(b, activation, channels_last(b, data_format, x, convolved))


def biased(b: LayerBuilder, y: LayerTensor, use_bias: bool) -> LayerTensor:
    """Add the bias of each channel, if the layer has one."""
    if not use_bias:
        return y
    return b.BiasAdd(y, b.weight("bias", (y.shape[-1],)))
