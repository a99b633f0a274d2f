"""Convolutions backwards: to their input (a transposed convolution), and to their filter."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.kernels.convolution import depthwise_filter, group_count, grouped_product
from tfport.runtime.ops.nn.windows import Layout, Windows, explicit_pads, windows
from tfport.runtime.ops.shared.precision import widen


def to_input(dy: Any, w: Any, batch: int, channels: int, win: Windows) -> Any:
    """What a convolution with this filter would have been given, to first order."""
    groups = group_count(channels, w.shape[-2], w.shape[-1])
    dx = np.zeros((batch, *win.padded_sizes, channels), dy.dtype)
    for tap in win.taps() if dy.size else ():
        each = w[tap].reshape(w.shape[-2], groups, -1).transpose(1, 2, 0)
        dx[win.slices(tap)] += grouped_product(dy, each)
    return win.inside(dx)


def to_filter(x: Any, dy: Any, shape: tuple[int, ...], win: Windows) -> Any:
    groups = group_count(x.shape[-1], shape[-2], shape[-1])
    dw = np.zeros(shape, x.dtype)
    padded = win.padded(x)
    grads = dy.reshape(-1, groups, shape[-1] // groups).transpose(1, 0, 2)
    for tap in win.taps() if dy.size else ():
        seen = padded[win.slices(tap)].reshape(-1, groups, shape[-2]).transpose(1, 2, 0)
        dw[tap] = (seen @ grads).transpose(1, 0, 2).reshape(shape[-2:])
    return dw


def _checked(win: Windows, batch: int, dy: Any, channels: int) -> Windows:
    if dy.shape != (batch, *win.count, channels):
        raise RunFailed(
            f"out_backprop must have the shape {(batch, *win.count, channels)} with channels last, "
            f"found {dy.shape}"
        )
    return win


def input_backprop(
    layout: Layout,
    sizes: Any,
    filter: Any,
    out_backprop: Any,
    strides: Any,
    dilations: Any,
    padding: str,
    explicit: Any = (),
    depthwise: bool = False,
) -> Any:
    """A transposed convolution: what a convolution's input gets of what its output is given."""
    wanted = [int(n) for n in sizes]
    if len(wanted) == len(layout.space):  # Conv2DBackpropInput takes (height, width) alone
        shape = [out_backprop.shape[0], *wanted, filter.shape[-2]]
    elif len(wanted) == len(layout.text):
        shape = [wanted[i] for i in layout.to_last]
    else:
        raise RunFailed(f"expected {len(layout.text)} input sizes, found {len(wanted)}")
    dy, w = widen(layout.last(out_backprop)), widen(filter)
    batch, *space, channels = shape
    if depthwise:
        w = depthwise_filter(w, channels)
    win = windows(
        space,
        w.shape[:-2],
        layout.spatial(strides),
        layout.spatial(dilations, "dilations"),
        padding,
        explicit,
    )
    dx = to_input(dy, w, batch, channels, _checked(win, batch, dy, w.shape[-1]))
    return layout.back(dx).astype(out_backprop.dtype, copy=False)


@host("Conv2DBackpropInput")
def conv2d_backprop_input(
    input_sizes,
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
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return input_backprop(layout, input_sizes, filter, out_backprop, strides, dilations, padding, pads)


@host("Conv2DBackpropInputV2")
def conv2d_backprop_input_v2(
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
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return input_backprop(layout, input.shape, filter, out_backprop, strides, dilations, padding, pads)


@host("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(input_sizes, filter, out_backprop, *, strides, padding, data_format, dilations):
    return input_backprop(Layout(data_format), input_sizes, filter, out_backprop, strides, dilations, padding)


@host("Conv3DBackpropInput")
def conv3d_backprop_input(input, filter, out_backprop, *, strides, padding, dilations):
    return input_backprop(Layout("NDHWC"), input.shape, filter, out_backprop, strides, dilations, padding)


@host("DepthwiseConv2dNativeBackpropInput")
def depthwise_backprop_input(
    input_sizes, filter, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return input_backprop(
        layout, input_sizes, filter, out_backprop, strides, dilations, padding, pads, depthwise=True
    )


def filter_backprop(
    layout: Layout,
    input: Any,
    sizes: Any,
    out_backprop: Any,
    strides: Any,
    dilations: Any,
    padding: str,
    explicit: Any = (),
    depthwise: bool = False,
) -> Any:
    x, dy = widen(layout.last(input)), widen(layout.last(out_backprop))
    wanted = tuple(int(n) for n in sizes)
    if len(wanted) != len(layout.text):
        raise RunFailed(f"expected {len(layout.text)} filter sizes, found {len(wanted)}")
    shape = (*wanted[:-2], 1, wanted[-2] * wanted[-1]) if depthwise else wanted
    win = windows(
        x.shape[1:-1],
        shape[:-2],
        layout.spatial(strides),
        layout.spatial(dilations, "dilations"),
        padding,
        explicit,
    )
    dw = to_filter(x, dy, shape, _checked(win, x.shape[0], dy, shape[-1]))
    return dw.reshape(wanted).astype(input.dtype, copy=False)


@host("Conv2DBackpropFilter")
def conv2d_backprop_filter(
    input,
    filter_sizes,
    out_backprop,
    *,
    strides,
    use_cudnn_on_gpu,
    padding,
    explicit_paddings,
    data_format,
    dilations,
):
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return filter_backprop(layout, input, filter_sizes, out_backprop, strides, dilations, padding, pads)


@host("Conv2DBackpropFilterV2")
def conv2d_backprop_filter_v2(
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
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return filter_backprop(layout, input, filter.shape, out_backprop, strides, dilations, padding, pads)


@host("Conv3DBackpropFilterV2")
def conv3d_backprop_filter(input, filter_sizes, out_backprop, *, strides, padding, data_format, dilations):
    return filter_backprop(
        Layout(data_format), input, filter_sizes, out_backprop, strides, dilations, padding
    )


@host("DepthwiseConv2dNativeBackpropFilter")
def depthwise_backprop_filter(
    input, filter_sizes, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return filter_backprop(
        layout, input, filter_sizes, out_backprop, strides, dilations, padding, pads, depthwise=True
    )
