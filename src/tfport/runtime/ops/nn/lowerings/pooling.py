"""Largest and mean of windows, in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.lowerings.convolution import explicit_of
from tfport.runtime.ops.nn.onnx_layouts import channels_second, from_channels_second, padding_of, spatial
from tfport.runtime.ops.nn.windows import Layout


def _pooled(
    b: Builder,
    op: str,
    layout: Layout,
    x: Operand,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
) -> Operand:
    kernel, steps = spatial(layout, ksize), spatial(layout, strides)
    inner = channels_second(b, x, layout)
    explicit = explicit_of(layout, explicit_paddings)
    pads = padding_of(inner, kernel, steps, [1] * len(kernel), padding, explicit)
    if pads is None:
        raise CannotLower("its padding depends on sizes that are not known")
    around = pads.get("pads", ())
    # ONNX Runtime wants less padding than window, and a window that fits
    for i, size in enumerate(inner.shape[2:] if around and inner.shape is not None else ()):
        before, after = around[i], around[i + len(kernel)]
        if max(before, after) >= kernel[i] or (size is not None and size + before + after < kernel[i]):
            raise CannotLower("its windows do not fit")
    made = b.nodes(op, inner, kernel_shape=kernel, strides=steps, **pads)[0]
    return from_channels_second(b, made, layout)


@lower("MaxPool")
def max_pool(b, input, *, ksize, strides, padding, explicit_paddings, data_format):
    return _pooled(b, "MaxPool", Layout(data_format), input, ksize, strides, padding, explicit_paddings)


@lower("MaxPoolV2")
def max_pool_v2(b, input, ksize, strides, *, padding, data_format):
    sizes, steps = (constant_of(o, "the window") for o in (ksize, strides))
    return _pooled(b, "MaxPool", Layout(data_format), input, sizes.tolist(), steps.tolist(), padding)


@lower("MaxPool3D")
def max_pool_3d(b, input, *, ksize, strides, padding, data_format):
    return _pooled(b, "MaxPool", Layout(data_format), input, ksize, strides, padding)


@lower("AvgPool")
def avg_pool(b, value, *, ksize, strides, padding, data_format):
    return _pooled(b, "AveragePool", Layout(data_format), value, ksize, strides, padding)


@lower("AvgPool3D")
def avg_pool_3d(b, input, *, ksize, strides, padding, data_format):
    return _pooled(b, "AveragePool", Layout(data_format), input, ksize, strides, padding)
