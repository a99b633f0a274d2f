"""Max and average pooling, lowered to ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.nn.lowerings.convolution import lowered_pads
from tfport.runtime.ops.nn.onnx_layouts import (
    channels_second,
    from_channels_second,
    padding_attributes,
    spatial_values,
)
from tfport.runtime.ops.nn.windows import DataLayout


def _pooled(
    b: Builder,
    op: str,
    layout: DataLayout,
    x: Operand,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit_paddings: Sequence[int] = (),
) -> Operand:
    kernel, strides = spatial_values(layout, ksize), spatial_values(layout, strides)
    inner = channels_second(b, x, layout)
    explicit = lowered_pads(layout, explicit_paddings)
    attrs = padding_attributes(inner, kernel, strides, [1] * len(kernel), padding, explicit)
    if attrs is None:
        raise CannotLower("the padding depends on an unknown size")
    pads = attrs.get("pads", ())
    # ONNX Runtime requires padding smaller than the window, and a window that fits
    for i, size in enumerate(inner.shape[2:] if pads and inner.shape is not None else ()):
        before, after = pads[i], pads[i + len(kernel)]
        if max(before, after) >= kernel[i] or (size is not None and size + before + after < kernel[i]):
            raise CannotLower("a window is larger than the padded input, or not larger than its padding")
    output = b.nodes(op, inner, kernel_shape=kernel, strides=strides, **attrs)[0]
    return from_channels_second(b, output, layout)


@lower("MaxPool")
def max_pool(b, input, *, ksize, strides, padding, explicit_paddings, data_format):
    return _pooled(b, "MaxPool", DataLayout(data_format), input, ksize, strides, padding, explicit_paddings)


@lower("MaxPoolV2")
def max_pool_v2(b, input, ksize, strides, *, padding, data_format):
    ksize, strides = constant_of(ksize, "ksize").tolist(), constant_of(strides, "strides").tolist()
    return _pooled(b, "MaxPool", DataLayout(data_format), input, ksize, strides, padding)


@lower("MaxPool3D")
def max_pool_3d(b, input, *, ksize, strides, padding, data_format):
    return _pooled(b, "MaxPool", DataLayout(data_format), input, ksize, strides, padding)


@lower("AvgPool")
def avg_pool(b, value, *, ksize, strides, padding, data_format):
    return _pooled(b, "AveragePool", DataLayout(data_format), value, ksize, strides, padding)


@lower("AvgPool3D")
def avg_pool_3d(b, input, *, ksize, strides, padding, data_format):
    return _pooled(b, "AveragePool", DataLayout(data_format), input, ksize, strides, padding)
