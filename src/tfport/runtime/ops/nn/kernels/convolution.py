"""Convolutions of one to three spatial axes, grouped and depthwise ones included."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.nn.windows import Layout, Windows, explicit_pads, windows
from tfport.runtime.ops.shared.precision import widen


def convolve(x: Any, w: Any, win: Windows) -> Any:
    """`x` (batch, space, channels) with a filter (space, channels of a group, channels out)."""
    groups = group_count(x.shape[-1], w.shape[-2], w.shape[-1])
    padded = win.padded(x)
    out = np.zeros((x.shape[0], *win.count, w.shape[-1]), x.dtype)
    if not out.size:
        return out
    if w.shape[-2] == 1 and groups > 1:
        return _depthwise(padded, w.reshape(*win.kernel, groups, -1), win, out)
    for tap in win.taps():
        each = w[tap].reshape(w.shape[-2], groups, -1).transpose(1, 0, 2)
        out += grouped_product(padded[win.slices(tap)], each)
    return out


def group_count(channels: int, per_group: int, out: int) -> int:
    if not per_group or channels % per_group:
        raise RunFailed(f"input depth {channels} must be a multiple of the filter's depth {per_group}")
    groups = channels // per_group
    if groups and out % groups:
        raise RunFailed(f"output depth {out} must be a multiple of the number of groups {groups}")
    return max(groups, 1)


def _depthwise(padded: Any, w: Any, win: Windows, out: Any) -> Any:
    parts = out.reshape(*out.shape[:-1], *w.shape[-2:])
    for tap in win.taps():
        parts += padded[win.slices(tap)][..., None] * w[tap]
    return out


def grouped_product(x: Any, w: Any) -> Any:
    """`x` (…, channels of all groups) times a matrix for each group."""
    if len(w) == 1:
        return x @ w[0]
    split = x.reshape(-1, len(w), w.shape[1]).transpose(1, 0, 2)
    return (split @ w).transpose(1, 0, 2).reshape(*x.shape[:-1], -1)


def convolution(
    layout: Layout,
    input: Any,
    filter: Any,
    strides: Any,
    dilations: Any,
    padding: str,
    explicit: Any = (),
    depthwise: bool = False,
) -> Any:
    """The forward convolution of all ops here, in their layout."""
    x, w = widen(layout.last(input)), widen(filter)
    if w.ndim != len(layout.text):
        raise RunFailed(f"the filter must have {len(layout.text)} axes, found {w.ndim}")
    if not w.size:
        raise RunFailed("the filter must not be empty")
    if depthwise:
        w = depthwise_filter(w, x.shape[-1])
    win = windows(
        x.shape[1:-1],
        w.shape[:-2],
        layout.spatial(strides),
        layout.spatial(dilations, "dilations"),
        padding,
        explicit,
    )
    return layout.back(convolve(x, w, win)).astype(input.dtype, copy=False)


def depthwise_filter(w: Any, channels: int) -> Any:
    """A filter (space, channels, multiplier) as that of a convolution with a group for each channel."""
    if w.shape[-2] != channels:
        raise RunFailed(f"input and filter must have the same depth: {channels} and {w.shape[-2]}")
    return w.reshape(*w.shape[:-2], 1, -1)


@host("Conv2D")
def conv2d(input, filter, *, strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format, dilations):
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return convolution(layout, input, filter, strides, dilations, padding, pads)


@host("Conv3D")
def conv3d(input, filter, *, strides, padding, data_format, dilations):
    return convolution(Layout(data_format), input, filter, strides, dilations, padding)


@host("DepthwiseConv2dNative")
def depthwise_conv2d(input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    layout = Layout(data_format)
    pads = explicit_pads(layout, explicit_paddings)
    return convolution(layout, input, filter, strides, dilations, padding, pads, depthwise=True)


@host("Conv")
def conv(input, filter, *, strides, padding, explicit_paddings, data_format, dilations, batch_dims, groups):
    """Two or three spatial axes behind any number of batch axes, which are one to the convolution."""
    space = "DHW"[-(filter.ndim - 2) :]
    layout = Layout(f"N{space}C" if data_format == "CHANNELS_LAST" else f"NC{space}")
    batch = input.shape[:batch_dims]
    flat = input.reshape(-1, *input.shape[batch_dims:])
    pads = explicit_pads(layout, explicit_paddings)
    ones = [1] * len(layout.text)
    answer = convolution(layout, flat, filter, strides, dilations or ones, padding, pads)
    return answer.reshape(*batch, *answer.shape[1:])
