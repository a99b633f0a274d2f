"""Convolutions forward, in ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.onnx_layouts import (
    channels_second,
    from_channels_second,
    pad_by_size,
    padding_of,
    spatial,
)
from tfport.runtime.ops.nn.windows import Layout, explicit_pads


def filter_sizes(w: Operand) -> list[int]:
    """The sizes of a filter, which an engine must know."""
    if w.shape is None or None in w.shape:
        raise CannotLower("the sizes of the filter are not known")
    sizes = [n for n in w.shape if n is not None]
    if 0 in sizes:
        raise CannotLower("the filter is empty")
    return sizes


def groups_of(x: Operand, layout: Layout, per_group: int, out: int) -> int:
    """How many groups a convolution has: channels of the input by those that the filter takes."""
    channels = x.shape[layout.channel] if x.shape is not None else None
    if channels is None:
        raise CannotLower("the number of channels is not known")
    if channels % per_group or not channels or out % (channels // per_group):
        raise CannotLower("input and filter do not fit")
    return channels // per_group


def explicit_of(layout: Layout, explicit_paddings: Sequence[int]) -> list[tuple[int, int]]:
    try:
        found = explicit_pads(layout, explicit_paddings)
    except RunFailed as error:
        raise CannotLower(str(error)) from None
    if any(n < 0 for pair in found for n in pair):
        raise CannotLower("padding is negative")
    return found


def convolution(
    b: Builder,
    layout: Layout,
    x: Operand,
    w: Operand,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
    *,
    depthwise: bool = False,
    bias: Operand | None = None,
) -> Operand:
    """A convolution in the layout of its op."""
    *kernel, per_group, out = sizes = filter_sizes(w)
    if rank_of(x) != len(layout.text) or len(sizes) != len(layout.text):
        raise CannotLower("its ranks do not fit")
    if depthwise:
        if x.shape is None or x.shape[layout.channel] not in (per_group, None):
            raise CannotLower("input and filter do not fit")
        group, w, out = per_group, b.reshape(w, *kernel, 1, per_group * out), per_group * out
    else:
        group = groups_of(x, layout, per_group, out)
    n = len(kernel)
    weights = b.transpose(w, (n + 1, n, *range(n)))
    step, spread = spatial(layout, strides), spatial(layout, dilations)
    inner = channels_second(b, x, layout)
    pads = padding_of(inner, kernel, step, spread, padding, explicit)
    if pads is None:
        inner, pads = pad_by_size(b, inner, kernel, step, spread), {}
    _fits(inner, kernel, spread, pads)
    given = (inner, weights) if bias is None else (inner, weights, bias)
    made = b.Conv(*given, strides=step, dilations=spread, group=group, kernel_shape=kernel, **pads)
    return from_channels_second(b, made, layout)


def _fits(x: Operand, kernel: Sequence[int], dilations: Sequence[int], pads: dict[str, Any]) -> None:
    """No engine has windows that are larger than what they slide over; TensorFlow answers with nothing."""
    around = pads.get("pads")
    for i, size in enumerate(x.shape[2:] if x.shape and around else ()):
        reach = (kernel[i] - 1) * dilations[i] + 1
        if around and size is not None and size + around[i] + around[i + len(kernel)] < reach:
            raise CannotLower("its windows do not fit")


@lower("Conv2D")
def conv2d(
    b, input, filter, *, strides, use_cudnn_on_gpu, padding, explicit_paddings, data_format, dilations
):
    layout = Layout(data_format)
    explicit = explicit_of(layout, explicit_paddings)
    return convolution(b, layout, input, filter, strides, dilations, padding, explicit)


@lower("Conv3D")
def conv3d(b, input, filter, *, strides, padding, data_format, dilations):
    return convolution(b, Layout(data_format), input, filter, strides, dilations, padding)


@lower("DepthwiseConv2dNative")
def depthwise_conv2d(b, input, filter, *, strides, padding, explicit_paddings, data_format, dilations):
    layout = Layout(data_format)
    explicit = explicit_of(layout, explicit_paddings)
    return convolution(b, layout, input, filter, strides, dilations, padding, explicit, depthwise=True)


@lower("Conv", batch_dims=(1,))
def conv(
    b, input, filter, *, strides, padding, explicit_paddings, data_format, dilations, batch_dims, groups
):
    space = "DHW"[2 - rank_of(filter, "the filter") :]
    layout = Layout(f"N{space}C" if data_format == "CHANNELS_LAST" else f"NC{space}")
    explicit = explicit_of(layout, explicit_paddings)
    dilations = dilations or [1] * len(layout.text)
    return convolution(b, layout, input, filter, strides, dilations, padding, explicit)
