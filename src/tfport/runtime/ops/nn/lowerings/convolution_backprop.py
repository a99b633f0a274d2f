"""Convolutions backwards to their input, in ONNX: ConvTranspose, cut to the sizes that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tfport.graph.dtypes import INT64
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.lowerings.convolution import explicit_of, filter_sizes
from tfport.runtime.ops.nn.onnx_layouts import channels_second, from_channels_second, spatial
from tfport.runtime.ops.nn.windows import Layout, same_pads


def transposed(
    b: Builder,
    layout: Layout,
    sizes: Operand,
    w: Operand,
    dy: Operand,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
    *,
    depthwise: bool = False,
) -> Operand:
    """`sizes` are those of the answer, in the layout of the op; a vector, known or not."""
    *kernel, per_group, out = filter_sizes(w)
    n = len(kernel)
    if rank_of(dy) != n + 2 or sizes.shape != (n + 2,):
        raise CannotLower("its ranks do not fit")
    if depthwise:
        group, w, out = per_group, b.reshape(w, *kernel, 1, per_group * out), per_group * out
    else:
        group = _groups(sizes, layout, per_group, out)
    if dy.shape is None or dy.shape[layout.channel] != out:
        raise CannotLower("the number of channels is not known")
    weights = b.transpose(w, (n + 1, n, *range(n)))
    inner = channels_second(b, dy, layout)
    attrs = {
        "strides": spatial(layout, strides),
        "dilations": spatial(layout, dilations),
        "group": group,
        "kernel_shape": kernel,
    }
    known = _known_pads(sizes, layout, inner, attrs, padding, explicit)
    if known is not None:
        made = b.ConvTranspose(inner, weights, **attrs, **known)
        assert sizes.known is not None
        assert made.shape is not None
        made.shape = (*made.shape[:2], *(sizes.known[i] for i in layout.space))
    else:
        made = _cut(b, b.int64(sizes), layout, inner, weights, attrs, padding, explicit)
    return from_channels_second(b, made, layout)


def _groups(sizes: Operand, layout: Layout, per_group: int, out: int) -> int:
    channels = sizes.known[layout.channel] if sizes.known is not None else None
    if channels is None:
        raise CannotLower("the number of channels is not known")
    if channels % per_group or not channels or out % (channels // per_group):
        raise CannotLower("input sizes and filter do not fit")
    return channels // per_group


def _known_pads(
    sizes: Operand,
    layout: Layout,
    dy: Operand,
    attrs: dict[str, Any],
    padding: str,
    explicit: Sequence[tuple[int, int]],
) -> dict[str, Any] | None:
    """The padding where the spatial sizes of both sides are known; None where only a run tells."""
    wanted = [sizes.known[i] if sizes.known is not None else None for i in layout.space]
    given = dy.shape[2:] if dy.shape is not None else (None,) * len(wanted)
    before, after, more = [], [], []
    each = zip(given, wanted, attrs["kernel_shape"], attrs["strides"], attrs["dilations"], strict=True)
    for i, (have, want, k, s, d) in enumerate(each):
        if have is None or want is None:
            return None
        reach = (k - 1) * d + 1
        around = {"SAME": same_pads(want, k, s, d), "VALID": (0, 0)}.get(padding) or explicit[i]
        if int((want + sum(around) - reach + s) / s) != have or not have:
            raise CannotLower("input sizes and out_backprop do not fit")
        whole = (have - 1) * s + reach - around[0]
        before.append(around[0])
        after.append(max(whole - want, 0))
        more.append(max(want - whole, 0))
    return {"pads": before + after, "output_padding": more}


def _cut(
    b: Builder,
    sizes: Operand,
    layout: Layout,
    dy: Operand,
    weights: Operand,
    attrs: dict[str, Any],
    padding: str,
    explicit: Sequence[tuple[int, int]],
) -> Operand:
    """All that the filter reaches, and of it the part that was asked for, reckoned in the graph."""
    n = len(layout.space)
    strides = attrs["strides"]
    reach = [(k - 1) * d + 1 for k, d in zip(attrs["kernel_shape"], attrs["dilations"], strict=True)]
    wanted = b.Gather(sizes, b.ints(*layout.space), axis=0)
    around = [0] * n if padding == "VALID" else [sum(pair) for pair in explicit]
    less = [1] * n if padding == "SAME" else [r - p for r, p in zip(reach, around, strict=True)]
    count = b.Div(
        b.Add(wanted, b.ints(*(s - m for s, m in zip(strides, less, strict=True)))), b.ints(*strides)
    )
    # a reshape to what it must be refuses sizes that do not belong to out_backprop
    checked = b.Reshape(
        dy, b.Concat(b.Gather(sizes, b.ints(0), axis=0), b.Shape(dy, start=1, end=2), count, axis=0)
    )
    more = [s - 1 for s in strides]  # cells that no window saw
    whole = b.ConvTranspose(checked, weights, **attrs, output_padding=more)
    if padding == "SAME":
        covered = b.Add(
            b.Mul(count, b.ints(*strides)), b.ints(*(r - s for r, s in zip(reach, strides, strict=True)))
        )
        before = b.Div(b.Max(b.Sub(covered, wanted), b.ints(0)), b.ints(2))
    else:
        before = b.ints(*(p for p, _ in explicit)) if padding == "EXPLICIT" else b.ints(*[0] * n)
    cut = b.Slice(whole, before, b.Add(before, wanted), b.ints(*range(2, n + 2)))
    if sizes.known is not None and cut.shape is not None:
        cut.shape = (*cut.shape[:2], *(sizes.known[i] for i in layout.space))
    return cut


@lower("Conv2DBackpropInput")
def conv2d_backprop_input(
    b,
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
    explicit = explicit_of(layout, explicit_paddings)
    return transposed(b, layout, input_sizes, filter, out_backprop, strides, dilations, padding, explicit)


@lower("Conv2DBackpropInputV2")
def conv2d_backprop_input_v2(
    b,
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
    explicit = explicit_of(layout, explicit_paddings)
    sizes = b.nodes("Shape", input, dtype=INT64)[0]
    return transposed(b, layout, sizes, filter, out_backprop, strides, dilations, padding, explicit)


@lower("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(
    b, input_sizes, filter, out_backprop, *, strides, padding, data_format, dilations
):
    return transposed(b, Layout(data_format), input_sizes, filter, out_backprop, strides, dilations, padding)


@lower("DepthwiseConv2dNativeBackpropInput")
def depthwise_backprop_input(
    b, input_sizes, filter, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    layout = Layout(data_format)
    explicit = explicit_of(layout, explicit_paddings)
    return transposed(
        b, layout, input_sizes, filter, out_backprop, strides, dilations, padding, explicit, depthwise=True
    )
