"""Pooling and resizing of quantized images."""

from __future__ import annotations

from typing import Any

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.quantized_value import OFFSETS, as_stored, quantized_input, quantized_output
from tfport.frontends.lite.tensor import LiteValue
from tfport.frontends.lite.windows import Pooling2D
from tfport.graph.graph import Value


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
