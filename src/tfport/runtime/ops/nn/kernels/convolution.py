"""Convolutions with two or three spatial axes, including grouped, depthwise and fused convolutions.

TensorFlow's optimizer and TensorFlow.js fuse convolutions with other ops.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.fused_ops import apply_fused_ops
from tfport.runtime.ops.nn.windows import DataLayout, Windows, explicit_pads, layout_windows
from tfport.runtime.ops.shared.precision import widen


@host("Addons>CorrelationCost CorrelationCost")
def correlation_cost(
    input_a, input_b, *, kernel_size, max_displacement, stride_1, stride_2, pad, data_format
):
    """How alike the patches of two images are, for each displacement of the second: a mean of products."""
    if input_a.ndim != 4 or input_a.shape != input_b.shape:
        raise RunFailed(
            "input_a and input_b must have the same 4 axes, "
            f"found shapes {list(input_a.shape)} and {list(input_b.shape)}"
        )
    if (
        kernel_size < 1
        or not kernel_size % 2
        or min(stride_1, stride_2) < 1
        or min(max_displacement, pad) < 0
    ):
        raise RunFailed(
            "kernel_size must be odd, strides positive, max_displacement and pad not negative, "
            f"found {kernel_size}, {stride_1}, {stride_2}, {max_displacement} and {pad}"
        )
    a, b = (x if data_format == "NHWC" else np.moveaxis(x, 1, 3) for x in (input_a, input_b))
    border, reach = max_displacement + kernel_size // 2, max_displacement // stride_2
    sizes = [-(-(n + 2 * pad - 2 * border) // stride_1) for n in a.shape[1:3]]
    if min(sizes) < 1:
        raise RunFailed("Neighborhood and kernel don't fit in input height or width")
    # the kernel of TensorFlow Addons multiplies the padding before the image by the stride
    frame = ((0, 0), (pad * stride_1, pad), (pad * stride_1, pad), (0, 0))
    a, b = np.pad(a, frame), np.pad(b, frame)
    moves = [stride_2 * n for n in range(-reach, reach + 1)]
    costs = np.zeros((len(a), len(moves), len(moves), *sizes), a.dtype)
    taps = range(-(kernel_size // 2), kernel_size // 2 + 1)

    def seen(x: Any, down: int, across: int) -> Any:
        top, left = border + down, border + across
        return x[:, top : top + sizes[0] * stride_1 : stride_1, left : left + sizes[1] * stride_1 : stride_1]

    for i, down in enumerate(moves):
        for j, across in enumerate(moves):
            for y in taps:
                for x in taps:
                    costs[:, i, j] += np.einsum(
                        "bhwc,bhwc->bhw", seen(a, y, x), seen(b, y + down, x + across)
                    )
    count = kernel_size * kernel_size * a.shape[3]
    return costs.reshape(len(a), len(moves) ** 2, *sizes) / a.dtype.type(count)


def convolve(x: Any, w: Any, win: Windows) -> Any:
    """Convolve `x` (batch, spatial, channels) with `w` (spatial, channels per group, output channels)."""
    groups = group_count(x.shape[-1], w.shape[-2], w.shape[-1])
    padded = win.padded(x)
    out = np.zeros((x.shape[0], *win.count, w.shape[-1]), x.dtype)
    if not out.size:
        return out
    if w.shape[-2] == 1 and groups > 1:
        return _depthwise(padded, w.reshape(*win.kernel, groups, -1), win, out)
    for tap in win.taps():
        matrices = w[tap].reshape(w.shape[-2], groups, -1).transpose(1, 0, 2)
        out += grouped_product(padded[win.slices(tap)], matrices)
    return out


def group_count(channels: int, per_group: int, out: int) -> int:
    """The number of groups; RunFailed if the depths of input, filter and output do not match."""
    if not per_group or channels % per_group:
        raise RunFailed(
            f"the input depth must be a multiple of the filter depth {per_group}, found {channels}"
        )
    groups = channels // per_group
    if groups and out % groups:
        raise RunFailed(f"the output depth must be a multiple of {groups}, the number of groups, found {out}")
    return max(groups, 1)


def _depthwise(padded: Any, w: Any, win: Windows, out: Any) -> Any:
    parts = out.reshape(*out.shape[:-1], *w.shape[-2:])
    for tap in win.taps():
        parts += padded[win.slices(tap)][..., None] * w[tap]
    return out


def grouped_product(x: Any, w: Any) -> Any:
    """Multiply the channels of each group in `x` by the matrix of that group."""
    if len(w) == 1:
        return x @ w[0]
    split = x.reshape(-1, len(w), w.shape[1]).transpose(1, 0, 2)
    return (split @ w).transpose(1, 0, 2).reshape(*x.shape[:-1], -1)


def convolution(
    layout: DataLayout,
    input: Any,
    filter: Any,
    strides: Any,
    dilations: Any,
    padding: str,
    explicit_paddings: Any = (),
    depthwise: bool = False,
) -> Any:
    """Convolve an input in any layout."""
    x, w = widen(layout.to_channels_last(input)), widen(filter)
    if w.ndim != layout.rank:
        raise RunFailed(f"the filter must have {layout.rank} axes, found {w.ndim}")
    if not w.size:
        raise RunFailed(f"the filter must not be empty, found shape {list(w.shape)}")
    if depthwise:
        w = depthwise_filter(w, x.shape[-1])
    pads = explicit_pads(layout, explicit_paddings)
    win = layout_windows(layout, x.shape[1:-1], w.shape[:-2], strides, dilations, padding, pads)
    return layout.from_channels_last(convolve(x, w, win)).astype(input.dtype, copy=False)


def depthwise_filter(w: Any, channels: int) -> Any:
    """Reshape a depthwise filter to that of a convolution with one group per channel."""
    if w.shape[-2] != channels:
        raise RunFailed(f"the filter must have depth {channels}, like the input, found {w.shape[-2]}")
    return w.reshape(*w.shape[:-2], 1, -1)


@host("Conv2D")
def conv2d(input, filter, *, strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format, dilations):
    layout = DataLayout(data_format)
    return convolution(layout, input, filter, strides, dilations, padding, explicit_paddings)


@host("Conv3D")
def conv3d(input, filter, *, strides, padding, data_format, dilations):
    return convolution(DataLayout(data_format), input, filter, strides, dilations, padding)


@host("DepthwiseConv2dNative")
def depthwise_conv2d(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    layout = DataLayout(data_format)
    return convolution(layout, input, filter, strides, dilations, padding, explicit_paddings, depthwise=True)


@host("Conv")
def conv(input, filter, *, strides, padding, explicit_paddings, data_format, dilations, batch_dims, groups):
    """A convolution over two or three spatial axes, with any number of leading batch axes."""
    axes = "DHW"[-(filter.ndim - 2) :]
    layout = DataLayout(f"N{axes}C" if data_format == "CHANNELS_LAST" else f"NC{axes}")
    batch = input.shape[:batch_dims]
    flat = input.reshape(-1, *input.shape[batch_dims:])
    dilations = dilations or [1] * layout.rank
    out = convolution(layout, flat, filter, strides, dilations, padding, explicit_paddings)
    return out.reshape(*batch, *out.shape[1:])


# Fused convolutions


@host("_FusedConv2D")
def fused_conv2d(
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
    if filter_format != "HWIO" or host_args:
        raise RunFailed(
            f"filter_format must be HWIO, without host_args, "
            f"found {filter_format} and {len(host_args)} host_args"
        )
    layout = DataLayout(data_format)
    y = convolution(layout, widen(input), widen(filter), strides, dilations, padding, explicit_paddings)
    return _with_fused_ops(layout, y, args, fused_ops, epsilon, leakyrelu_alpha)


def _with_fused_ops(
    layout: DataLayout, y: Any, args: Any, fused_ops: Any, epsilon: float, alpha: float
) -> Any:
    args = [_channels_last(layout, arg) for arg in args]
    return layout.from_channels_last(
        apply_fused_ops(layout.to_channels_last(y), args, fused_ops, epsilon, alpha)
    )


def _channels_last(layout: DataLayout, arg: Any) -> Any:
    """An input of a fused op: a value for each channel, or an array in the layout of the output."""
    if arg.ndim < 2:
        return arg
    return layout.to_channels_last(arg.reshape((1,) * (4 - arg.ndim) + arg.shape))


@host("_FusedDepthwiseConv2dNative")
def fused_depthwise_conv2d(
    input, filter, args, *, strides, padding, data_format, dilations, fused_ops, epsilon, leakyrelu_alpha
):
    layout = DataLayout(data_format)
    y = convolution(layout, widen(input), widen(filter), strides, dilations, padding, depthwise=True)
    return _with_fused_ops(layout, y, args, fused_ops, epsilon, leakyrelu_alpha)


@host("FusedDepthwiseConv2dNative")
def tfjs_fused_depthwise_conv2d(
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
    y = convolution(
        layout, widen(input), widen(filter), strides, dilations, padding, explicit_paddings, depthwise=True
    )
    return _with_fused_ops(layout, y, args, fused_ops, epsilon, leakyrelu_alpha)
