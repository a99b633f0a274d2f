"""Gradients of convolutions with respect to their input (transposed convolution) and their filter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import depthwise_filter, group_count, grouped_product
from tfport.runtime.ops.nn.windows import DataLayout, Windows, explicit_pads, layout_windows
from tfport.runtime.ops.shared.precision import widen


def _input_gradient(dy: Any, w: Any, batch: int, channels: int, win: Windows) -> Any:
    """Transposed convolution of `dy`, with channels last."""
    groups = group_count(channels, w.shape[-2], w.shape[-1])
    dx = np.zeros((batch, *win.padded_sizes, channels), dy.dtype)
    for tap in win.taps() if dy.size else ():
        matrices = w[tap].reshape(w.shape[-2], groups, -1).transpose(1, 2, 0)
        dx[win.slices(tap)] += grouped_product(dy, matrices)
    return win.without_padding(dx)


def _filter_gradient(x: Any, dy: Any, shape: tuple[int, ...], win: Windows) -> Any:
    """The gradient of a filter of `shape`, with channels last."""
    groups = group_count(x.shape[-1], shape[-2], shape[-1])
    dw = np.zeros(shape, x.dtype)
    padded = win.padded(x)
    grads = dy.reshape(-1, groups, shape[-1] // groups).transpose(1, 0, 2)
    for tap in win.taps() if dy.size else ():
        elements = padded[win.slices(tap)].reshape(-1, groups, shape[-2]).transpose(1, 2, 0)
        dw[tap] = (elements @ grads).transpose(1, 0, 2).reshape(shape[-2:])
    return dw


def _check_gradient(win: Windows, batch: int, dy: Any, channels: int) -> None:
    if dy.shape != (batch, *win.count, channels):
        raise RunFailed(
            f"out_backprop must have shape {(batch, *win.count, channels)} with channels last, "
            f"found {dy.shape}"
        )


def input_backprop(
    data_format: str,
    sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    dilations: Any,
    padding: str,
    explicit_paddings: Any = (),
    depthwise: bool = False,
) -> Any:
    """The gradient of a convolution's input of shape `sizes`."""
    layout = DataLayout(data_format)
    sizes = [int(n) for n in sizes]
    if len(sizes) == len(layout.spatial_axes):  # Conv2DBackpropInput also takes (height, width)
        shape = [out_backprop.shape[0], *sizes, filter.shape[-2]]
    elif len(sizes) == layout.rank:
        shape = [sizes[i] for i in layout.channels_last_order]
    else:
        raise RunFailed(f"input_sizes must have {layout.rank} elements, found {len(sizes)}")
    dy, w = widen(layout.to_channels_last(out_backprop)), widen(filter)
    batch, *spatial, channels = shape
    if depthwise:
        w = depthwise_filter(w, channels)
    pads = explicit_pads(layout, explicit_paddings)
    win = layout_windows(layout, spatial, w.shape[:-2], strides, dilations, padding, pads)
    _check_gradient(win, batch, dy, w.shape[-1])
    dx = _input_gradient(dy, w, batch, channels, win)
    return layout.from_channels_last(dx).astype(out_backprop.dtype, copy=False)


def _conv2d_backprop_input(sizes: Callable[[Any], Any]) -> Any:
    def kernel(
        input,
        filter,
        out_backprop,
        *,
        strides,
        use_cudnn_on_gpu,
        padding,
        explicit_paddings,
        data_format,
        dilations,
    ):
        window = strides, dilations, padding, explicit_paddings
        return input_backprop(data_format, sizes(input), filter, out_backprop, *window)

    return kernel


host("Conv2DBackpropInput")(_conv2d_backprop_input(np.asarray))
host("Conv2DBackpropInputV2")(_conv2d_backprop_input(np.shape))


@host("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(input_sizes, filter, out_backprop, *, strides, padding, data_format, dilations):
    return input_backprop(data_format, input_sizes, filter, out_backprop, strides, dilations, padding)


@host("Conv3DBackpropInput")
def conv3d_backprop_input(input, filter, out_backprop, *, strides, padding, dilations):
    return input_backprop("NDHWC", input.shape, filter, out_backprop, strides, dilations, padding)


@host("DepthwiseConv2dNativeBackpropInput")
def depthwise_backprop_input(
    input_sizes, filter, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    window = strides, dilations, padding, explicit_paddings
    return input_backprop(data_format, input_sizes, filter, out_backprop, *window, depthwise=True)


def filter_backprop(
    data_format: str,
    input: Any,
    sizes: Any,
    out_backprop: Any,
    strides: Any,
    dilations: Any,
    padding: str,
    explicit_paddings: Any = (),
    depthwise: bool = False,
) -> Any:
    """The gradient of a convolution's filter of shape `sizes`."""
    layout = DataLayout(data_format)
    x, dy = widen(layout.to_channels_last(input)), widen(layout.to_channels_last(out_backprop))
    sizes = tuple(int(n) for n in sizes)
    if len(sizes) != layout.rank:
        raise RunFailed(f"filter_sizes must have {layout.rank} elements, found {len(sizes)}")
    shape = (*sizes[:-2], 1, sizes[-2] * sizes[-1]) if depthwise else sizes
    pads = explicit_pads(layout, explicit_paddings)
    win = layout_windows(layout, x.shape[1:-1], shape[:-2], strides, dilations, padding, pads)
    _check_gradient(win, x.shape[0], dy, shape[-1])
    dw = _filter_gradient(x, dy, shape, win)
    return dw.reshape(sizes).astype(input.dtype, copy=False)


def _conv2d_backprop_filter(sizes: Callable[[Any], Any]) -> Any:
    def kernel(
        input,
        filter,
        out_backprop,
        *,
        strides,
        use_cudnn_on_gpu,
        padding,
        explicit_paddings,
        data_format,
        dilations,
    ):
        window = strides, dilations, padding, explicit_paddings
        return filter_backprop(data_format, input, sizes(filter), out_backprop, *window)

    return kernel


host("Conv2DBackpropFilter")(_conv2d_backprop_filter(np.asarray))
host("Conv2DBackpropFilterV2")(_conv2d_backprop_filter(np.shape))


@host("Conv3DBackpropFilterV2")
def conv3d_backprop_filter(input, filter_sizes, out_backprop, *, strides, padding, data_format, dilations):
    return filter_backprop(data_format, input, filter_sizes, out_backprop, strides, dilations, padding)


@host("DepthwiseConv2dNativeBackpropFilter")
def depthwise_backprop_filter(
    input, filter_sizes, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    window = strides, dilations, padding, explicit_paddings
    return filter_backprop(data_format, input, filter_sizes, out_backprop, *window, depthwise=True)
