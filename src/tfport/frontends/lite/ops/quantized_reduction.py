"""Reductions, softmax, normalization, pooling and resizing of quantized tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import quantized_multiplier
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.ops.reductions import reduced_axes
from tfport.frontends.lite.quantized_value import OFFSETS, as_stored, quantized_input, quantized_output
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.windows import Pooling2D
from tfport.graph.graph import Value


@quantized("MEAN SUM")
def mean_sum(b: OperatorBuilder, x: LiteValue, axes: LiteValue, *, keep_dims: bool = False) -> Value:
    source, output = quantized_input(b, x), quantized_output(b)
    multiplier, shift = quantized_multiplier(float(np.float64(source.scale) / np.float64(output.scale)))
    y = b.LiteMean(
        source.value, reduced_axes(b, x, axes), keep_dims=keep_dims, divide=b.operator.code.op == "MEAN",
        multiplier=multiplier, shift=shift, x_zero=source.zero_point, **output.limits,
    )  # fmt: skip
    return as_stored(b, y)


@quantized("REDUCE_PROD")
def product(b: OperatorBuilder, x: LiteValue, axes: LiteValue, *, keep_dims: bool = False) -> Value:
    source, output = quantized_input(b, x), quantized_output(b)
    y = b.LiteProd(
        source.value, reduced_axes(b, x, axes), keep_dims=keep_dims, x_scale=float(source.scale),
        y_scale=float(output.scale), x_zero=source.zero_point, **output.limits,
    )  # fmt: skip
    return as_stored(b, y)


@quantized("SOFTMAX")
def softmax(b: OperatorBuilder, x: LiteValue, *, beta: float = 1.0) -> Value:
    """The scale of the output is 1/256 or 1/32768, whatever the file says."""
    source, output = quantized_input(b, x), quantized_output(b)
    y = b.LiteSoftmax(source.value, U=output.dtype, beta=beta, scale=float(source.scale))
    return as_stored(b, y)


@quantized("LOG_SOFTMAX")
def log_softmax(b: OperatorBuilder, x: LiteValue) -> Value:
    """The scale of the output is 1/16, and its largest value stands for zero."""
    if x.type == "INT16":
        raise b.refuse("int16 is not supported")
    source = quantized_input(b, x)
    return as_stored(b, b.LiteLogSoftmax(source.value, scale=float(source.scale)))


@quantized("L2_NORMALIZATION")
def l2_normalization(b: OperatorBuilder, x: LiteValue, *, fused_activation_function: str = "NONE") -> Value:
    """The scale of the output is 1/128, and the middle of its values stands for zero."""
    if x.type == "INT16":
        raise b.refuse("int16 is not supported")
    source = quantized_input(b, x)
    y = b.LiteL2Normalization(source.value, x_zero=source.zero_point, signed=x.type == "INT8")
    return as_stored(b, y)


# Images


@quantized("AVERAGE_POOL_2D")
def average_pool(
    b: OperatorBuilder,
    x: LiteValue,
    *,
    windows: Pooling2D = Pooling2D,  # type: ignore[assignment]
) -> Value:
    """The integers are averaged as they are: input and output have the same scale."""
    output = quantized_output(b, windows.fused_activation_function)
    y = b.LiteAveragePool(
        quantized_input(b, x).value, ksize=windows.ksize[1:3], strides=windows.strides[1:3],
        padding=windows.padding, offset=OFFSETS[x.type], low=output.low, high=output.high,
    )  # fmt: skip
    return as_stored(b, y)


@quantized("MAX_POOL_2D")
def max_pool(
    b: OperatorBuilder,
    x: LiteValue,
    *,
    windows: Pooling2D = Pooling2D,  # type: ignore[assignment]
) -> Value:
    output = quantized_output(b, windows.fused_activation_function)
    y: Any = b.MaxPool(
        quantized_input(b, x).value, ksize=windows.ksize,
        strides=windows.strides, padding=windows.padding,
    )  # fmt: skip
    if output.is_clipped:
        y = b.Minimum(b.Maximum(y, output.low), output.high)
    return as_stored(b, y)


@quantized("RESIZE_BILINEAR")
def resize_bilinear(
    b: OperatorBuilder, x: LiteValue, size: LiteValue, *, align_corners: bool, half_pixel_centers: bool
) -> Value:
    """uint8 is interpolated in float32, other types in fixed point."""
    y = b.LiteResizeBilinear(
        quantized_input(b, x).value, size, align_corners=align_corners,
        half_pixel_centers=half_pixel_centers, offset=OFFSETS[x.type], in_integers=x.type != "UINT8",
    )  # fmt: skip
    return as_stored(b, y)
