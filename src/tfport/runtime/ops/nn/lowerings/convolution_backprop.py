"""Gradients of convolutions with respect to their input, lowered to ONNX's ConvTranspose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tfport.graph.dtypes import INT64
from tfport.runtime.lower import CannotLower, lower, rank_of
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.lowerings.convolution import filter_sizes, group_count, lowered_pads
from tfport.runtime.ops.nn.onnx_layouts import channels_second, from_channels_second, spatial_values
from tfport.runtime.ops.nn.windows import DataLayout, same_pads


def input_gradient(
    b: Builder,
    data_format: str,
    sizes: Operand,
    w: Operand,
    dy: Operand,
    strides: Sequence[int],
    dilations: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
    *,
    depthwise: bool = False,
) -> Operand:
    """The gradient of an input whose shape is the vector `sizes`, constant or not."""
    layout = DataLayout(data_format)
    explicit = lowered_pads(layout, explicit_paddings)
    *kernel, per_group, out = filter_sizes(w)
    n = len(kernel)
    if rank_of(dy) != n + 2 or sizes.shape != (n + 2,):
        raise CannotLower(
            f"out_backprop and the filter must have {n + 2} axes, and input_sizes {n + 2} elements"
        )
    if depthwise:
        group, w, out = per_group, b.reshape(w, *kernel, 1, per_group * out), per_group * out
    else:
        channels = sizes.known[layout.channel_axis] if sizes.known is not None else None
        group = group_count(channels, per_group, out)
    if dy.shape is None or dy.shape[layout.channel_axis] != out:
        raise CannotLower(f"out_backprop must have {out} channels")
    weights = b.transpose(w, (n + 1, n, *range(n)))
    inner = channels_second(b, dy, layout)
    attrs = {
        "strides": spatial_values(layout, strides),
        "dilations": spatial_values(layout, dilations),
        "group": group,
        "kernel_shape": kernel,
    }
    pads = _known_pads(sizes, layout, inner, attrs, padding, explicit)
    if pads is not None:
        output = b.ConvTranspose(inner, weights, **attrs, **pads)
        assert sizes.known is not None
        assert output.shape is not None
        output.shape = (*output.shape[:2], *(sizes.known[i] for i in layout.spatial_axes))
    else:
        output = _dynamic(b, b.int64(sizes), layout, inner, weights, attrs, padding, explicit)
    return from_channels_second(b, output, layout)


def _known_pads(
    sizes: Operand,
    layout: DataLayout,
    dy: Operand,
    attrs: dict[str, Any],
    padding: str,
    explicit: Sequence[tuple[int, int]],
) -> dict[str, Any] | None:
    """The attributes for the padding; None if a spatial size of input or output is unknown."""
    spatial = [sizes.known[i] if sizes.known is not None else None for i in layout.spatial_axes]
    outputs = dy.shape[2:] if dy.shape is not None else (None,) * len(spatial)
    before, after, more = [], [], []
    axes = zip(outputs, spatial, attrs["kernel_shape"], attrs["strides"], attrs["dilations"], strict=True)
    for i, (count, size, k, s, d) in enumerate(axes):
        if count is None or size is None:
            return None
        extent = (k - 1) * d + 1
        pads = {"SAME": same_pads(size, k, s, d), "VALID": (0, 0)}.get(padding) or explicit[i]
        if int((size + sum(pads) - extent + s) / s) != count or not count:
            raise CannotLower("the sizes of input_sizes and out_backprop do not match")
        covered = (count - 1) * s + extent - pads[0]
        before.append(pads[0])
        after.append(max(covered - size, 0))
        more.append(max(size - covered, 0))
    return {"pads": before + after, "output_padding": more}


def _dynamic(
    b: Builder,
    sizes: Operand,
    layout: DataLayout,
    dy: Operand,
    weights: Operand,
    attrs: dict[str, Any],
    padding: str,
    explicit: Sequence[tuple[int, int]],
) -> Operand:
    """The gradient for sizes that only a run knows: a ConvTranspose without padding, then a Slice."""
    n = len(layout.spatial_axes)
    strides = attrs["strides"]
    extent = [(k - 1) * d + 1 for k, d in zip(attrs["kernel_shape"], attrs["dilations"], strict=True)]
    spatial = b.Gather(sizes, b.ints(*layout.spatial_axes), axis=0)
    pads = [0] * n if padding == "VALID" else [sum(pair) for pair in explicit]
    less = [1] * n if padding == "SAME" else [e - p for e, p in zip(extent, pads, strict=True)]
    count = b.Div(
        b.Add(spatial, b.ints(*(s - m for s, m in zip(strides, less, strict=True)))), b.ints(*strides)
    )
    # this Reshape fails at run time if input_sizes and out_backprop do not match
    checked = b.Reshape(
        dy, b.Concat(b.Gather(sizes, b.ints(0), axis=0), b.Shape(dy, start=1, end=2), count, axis=0)
    )
    more = [s - 1 for s in strides]  # elements that no window covers
    full = b.ConvTranspose(checked, weights, **attrs, output_padding=more)
    if padding == "SAME":
        covered = b.Add(
            b.Mul(count, b.ints(*strides)), b.ints(*(e - s for e, s in zip(extent, strides, strict=True)))
        )
        before = b.Div(b.Max(b.Sub(covered, spatial), b.ints(0)), b.ints(2))
    else:
        before = b.ints(*(p for p, _ in explicit)) if padding == "EXPLICIT" else b.ints(*[0] * n)
    dx = b.Slice(full, before, b.Add(before, spatial), b.ints(*range(2, n + 2)))
    if sizes.known is not None and dx.shape is not None:
        dx.shape = (*dx.shape[:2], *(sizes.known[i] for i in layout.spatial_axes))
    return dx


def _conv2d_backprop_input(sizes: Callable[[Builder, Operand], Operand]) -> Any:
    def lowering(
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
        window = strides, dilations, padding, explicit_paddings
        return input_gradient(b, data_format, sizes(b, input), filter, out_backprop, *window)

    return lowering


lower("Conv2DBackpropInput")(_conv2d_backprop_input(lambda b, sizes: sizes))
lower("Conv2DBackpropInputV2")(
    _conv2d_backprop_input(lambda b, input: b.nodes("Shape", input, dtype=INT64)[0])
)


@lower("Conv3DBackpropInputV2")
def conv3d_backprop_input_v2(
    b, input_sizes, filter, out_backprop, *, strides, padding, data_format, dilations
):
    return input_gradient(b, data_format, input_sizes, filter, out_backprop, strides, dilations, padding)


@lower("DepthwiseConv2dNativeBackpropInput")
def depthwise_backprop_input(
    b, input_sizes, filter, out_backprop, *, strides, padding, explicit_paddings, data_format, dilations
):
    window = strides, dilations, padding, explicit_paddings
    return input_gradient(b, data_format, input_sizes, filter, out_backprop, *window, depthwise=True)
