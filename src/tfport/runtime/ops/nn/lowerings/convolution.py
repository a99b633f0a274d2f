"""Convolutions, lowered to ONNX, also those that TensorFlow's optimizer or TensorFlow.js fused."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.onnx_fused_ops import lower_fused_ops
from tfport.runtime.ops.nn.onnx_layouts import (
    channels_second,
    from_channels_second,
    pad_same,
    padding_attributes,
    spatial_values,
)
from tfport.runtime.ops.nn.windows import DataLayout, explicit_pads


def filter_sizes(w: Operand) -> list[int]:
    """The sizes of a filter; CannotLower if one is unknown or zero."""
    if w.shape is None or None in w.shape:
        raise CannotLower("the shape of the filter is unknown")
    sizes = [n for n in w.shape if n is not None]
    if 0 in sizes:
        raise CannotLower("the filter is empty")
    return sizes


def _group_count_of(x: Operand, axis: int, per_group: int, out: int) -> int:
    """The number of groups; 1 for an unknown number of channels, as the engine fails at any other."""
    if x.shape is None or x.shape[axis] is None:
        return 1
    return group_count(x.shape[axis], per_group, out)


def group_count(channels: int | None, per_group: int, out: int) -> int:
    """The number of groups of a convolution: input channels divided by the filter's depth."""
    if channels is None:
        raise CannotLower("the number of channels is unknown")
    if channels % per_group or not channels or out % (channels // per_group):
        raise CannotLower(f"the filter's depth {per_group} does not match {channels} channels")
    return channels // per_group


def lowered_pads(layout: DataLayout, explicit_paddings: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of `explicit_paddings` for the spatial axes; CannotLower if they are invalid."""
    try:
        pads = explicit_pads(layout, explicit_paddings)
    except RunFailed as error:
        raise CannotLower(str(error)) from None
    if any(n < 0 for pair in pads for n in pair):
        raise CannotLower("explicit_paddings has a negative value")
    return pads


def convolution(
    b: Builder,
    layout: DataLayout,
    x: Operand,
    w: Operand,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    *,
    depthwise: bool = False,
) -> Operand:
    """Convolve an input in any layout."""
    explicit = lowered_pads(layout, explicit_paddings)
    *kernel, per_group, out = sizes = filter_sizes(w)
    if x.rank not in (layout.rank, None) or len(sizes) != layout.rank:
        raise CannotLower(f"the input and the filter must have {layout.rank} axes")
    if depthwise:
        if x.shape is not None and x.shape[layout.channel_axis] not in (per_group, None):
            raise CannotLower(f"the input must have {per_group} channels, the depth of the filter")
        group, w, out = per_group, b.reshape(w, *kernel, 1, per_group * out), per_group * out
    else:
        group = _group_count_of(x, layout.channel_axis, per_group, out)
    n = len(kernel)
    weights = b.transpose(w, (n + 1, n, *range(n)))
    strides, dilations = spatial_values(layout, strides), spatial_values(layout, dilations)
    inner = channels_second(b, x, layout)
    pads = padding_attributes(inner, kernel, strides, dilations, padding, explicit)
    if pads is None:
        inner, pads = pad_same(b, inner, kernel, strides, dilations), {}
    _check_windows(inner, kernel, dilations, pads)
    y = b.Conv(inner, weights, strides=strides, dilations=dilations, group=group, kernel_shape=kernel, **pads)
    return from_channels_second(b, y, layout)


def _check_windows(
    x: Operand, kernel: Sequence[int], dilations: Sequence[int], attrs: dict[str, Any]
) -> None:
    """CannotLower if a window is larger than the padded input: engines fail, TensorFlow gives no elements."""
    pads = attrs.get("pads")
    for i, size in enumerate(x.shape[2:] if x.shape and pads else ()):
        extent = (kernel[i] - 1) * dilations[i] + 1
        if pads and size is not None and size + pads[i] + pads[i + len(kernel)] < extent:
            raise CannotLower("a window is larger than the padded input")


@lower("Conv2D")
def conv2d(
    b, input, filter, *, strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format, dilations
):
    layout = DataLayout(data_format)
    return convolution(b, layout, input, filter, strides, dilations, padding, explicit_paddings)


@lower("Conv3D")
def conv3d(b, input, filter, *, strides, padding, data_format, dilations):
    return convolution(b, DataLayout(data_format), input, filter, strides, dilations, padding)


@lower("DepthwiseConv2dNative")
def depthwise_conv2d(b, input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    layout = DataLayout(data_format)
    return convolution(
        b, layout, input, filter, strides, dilations, padding, explicit_paddings, depthwise=True
    )


@lower("Conv", batch_dims=(1,))
def conv(
    b, input, filter, *, strides, padding, explicit_paddings, data_format, dilations, batch_dims, groups
):
    axes = "DHW"[2 - rank_of(filter, "the filter") :]
    layout = DataLayout(f"N{axes}C" if data_format == "CHANNELS_LAST" else f"NC{axes}")
    dilations = dilations or [1] * layout.rank
    return convolution(b, layout, input, filter, strides, dilations, padding, explicit_paddings)


# Fused convolutions


@lower("_FusedConv2D", filter_format=("HWIO",), num_host_args=(0,))
def fused_conv2d(
    b,
    input,
    filter,
    args,
    host_args,
    *,
    num_args,
    strides,
    padding,
    explicit_paddings,
    data_format,
    filter_format,
    dilations,
    use_cudnn_on_gpu,
    fused_ops,
    epsilon,
    leakyrelu_alpha,
):
    layout = DataLayout(data_format)
    y = convolution(b, layout, input, filter, strides, dilations, padding, explicit_paddings)
    return lower_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)


@lower("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    b, input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = DataLayout(data_format)
    y = convolution(b, layout, input, filter, strides, dilations, padding, depthwise=True)
    return lower_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)


@lower("FusedDepthwiseConv2dNative")
def tfjs_fused_depthwise_conv2d(
    b,
    input,
    filter,
    args,
    *,
    strides,
    padding,
    explicit_paddings,
    data_format,
    dilations,
    fused_ops,
    epsilon,
    leakyrelu_alpha,
):
    layout = DataLayout(data_format)
    y = convolution(b, layout, input, filter, strides, dilations, padding, explicit_paddings, depthwise=True)
    return lower_fused_ops(b, y, layout, args, fused_ops, epsilon, leakyrelu_alpha)


MOST_PRODUCTS = 1000


@lower("Addons>CorrelationCost CorrelationCost")
def correlation_cost(
    b, input_a, input_b, *, kernel_size, max_displacement, stride_1, stride_2, pad, data_format
):
    """A mean of products for each displacement of the second image, and each pixel of the patches."""
    if input_a.rank != 4 or None in input_a.shape[1:] or input_a.shape[1:] != input_b.shape[1:]:
        raise CannotLower("the sizes of the images are unknown or differ")
    if not kernel_size % 2 or min(kernel_size, stride_1, stride_2) < 1 or min(max_displacement, pad) < 0:
        raise CannotLower("an attribute is invalid")
    channels = 3 if data_format == "NHWC" else 1
    across = (1, 2) if data_format == "NHWC" else (2, 3)
    half, reach = kernel_size // 2, max_displacement // stride_2
    border = max_displacement + half
    sizes = [-(-(input_a.shape[axis] + 2 * pad - 2 * border) // stride_1) for axis in across]
    moves = [stride_2 * n for n in range(-reach, reach + 1)]
    if min(sizes) < 1 or (len(moves) * kernel_size) ** 2 > MOST_PRODUCTS:
        raise CannotLower("no patch fits, or there are too many displacements")
    pads = [0] * 8
    for axis in across:  # the padding before the image is multiplied by the stride, as in the kernel
        pads[axis], pads[axis + 4] = pad * stride_1, pad
    input_b = b.Reshape(input_b, b.Shape(input_a), allowzero=1)  # fails for another number of images
    first, second = (b.Pad(x, b.ints(*pads), b.const(0, x.dtype)) for x in (input_a, input_b))

    def seen(x: Operand, *at: int) -> Any:
        starts = [border + place for place in at]
        ends = [start + size * stride_1 for start, size in zip(starts, sizes, strict=True)]
        return b.Slice(x, b.ints(*starts), b.ints(*ends), b.ints(*across), b.ints(stride_1, stride_1))

    def product(down: int, right: int) -> Any:
        taps = [(y, x) for y in range(-half, half + 1) for x in range(-half, half + 1)]
        pairs = (b.Mul(seen(first, y, x), seen(second, y + down, x + right)) for y, x in taps)
        sums = [b.ReduceSum(pair, b.ints(channels), keepdims=0) for pair in pairs]
        return b.unsqueeze(sums[0] if len(sums) == 1 else b.Sum(*sums), 1)

    costs = b.Concat(*(product(down, right) for down in moves for right in moves), axis=1)
    return b.Div(costs, b.const(kernel_size * kernel_size * input_a.shape[channels], input_a.dtype))
