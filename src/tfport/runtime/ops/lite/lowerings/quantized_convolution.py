"""Convolutions of quantized tensors, lowered to ONNX.

Bytes use QLinearConv. Of 16 bits, the sums are computed in float32: their error is far below one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.graph.dtypes import FLOAT32
from tfport.lite.quantized_value import INT8, UINT8
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand
from tfport.runtime.ops.lite.quantized_onnx import clipped, dequantized, factors, quantized
from tfport.runtime.ops.nn.onnx_layouts import (
    channels_second,
    from_channels_second,
    pad_same,
    padding_attributes,
)
from tfport.runtime.ops.nn.windows import DataLayout

NHWC = DataLayout("NHWC")


@lower("LiteConv")
def lite_conv(
    b, x, filter, bias, *, U, strides, dilations, padding, groups, multiplier, shift, x_zero, filter_zero,
    y_zero, low, high, scales,
):  # fmt: skip
    window = {"strides": strides, "dilations": dilations, "group": groups}
    if x.dtype == UINT8 == U and bias.dtype.name == "int32":
        return _bytes(
            b, x, filter, bias, padding, window, factors(multiplier, shift), x_zero, filter_zero, y_zero,
            low, high,
        )  # fmt: skip
    weights = constant_of(filter, "the filter").astype(np.float32) - filter_zero
    scaled = weights * factors(multiplier, shift)
    added = constant_of(bias, "the bias").astype(np.float64) * factors(multiplier, shift)
    real = dequantized(b, x, 1.0, x_zero)
    operands = [b.const(scaled.transpose(3, 2, 0, 1), FLOAT32), b.const(added, FLOAT32)]
    y = _windowed(b, real, "Conv", operands, filter.shape[:2], padding, window, 0)
    return quantized(b, from_channels_second(b, y, NHWC), 1.0, y_zero, U, low, high)


def _bytes(
    b: Builder, x: Operand, filter: Operand, bias: Operand, padding: str, window: dict[str, Any],
    scales: Any, x_zero: int, filter_zero: int, y_zero: int, low: int, high: int,
) -> Operand:  # fmt: skip
    if not 0 <= y_zero <= 255 or not 0 <= x_zero <= 255:
        raise CannotLower("a zero point is not a byte")
    if not np.all(scales > 0):
        raise CannotLower("a scale is zero")
    single = scales[:1].reshape(()) if np.all(scales == scales[0]) else scales
    sizes = [n for n in filter.shape or () if n is not None]
    weights = b.transpose(filter, (3, 2, 0, 1))
    operands = [
        b.const(1, FLOAT32), b.const(x_zero, UINT8), weights, b.const(single, FLOAT32),
        b.const(np.full(single.shape, filter_zero), INT8), b.const(1, FLOAT32), b.const(y_zero, UINT8), bias,
    ]  # fmt: skip
    y = _windowed(b, x, "QLinearConv", operands, sizes[:2], padding, window, x_zero)
    return clipped(b, from_channels_second(b, y, NHWC), low, high)


def _windowed(
    b: Builder, x: Operand, op: str, operands: Sequence[Operand], kernel: Sequence[int], padding: str,
    window: dict[str, Any], zero: int,
) -> Operand:  # fmt: skip
    inner = channels_second(b, x, NHWC)
    strides, dilations = window["strides"], window["dilations"]
    pads = padding_attributes(inner, kernel, strides, dilations, padding, ())
    if pads is None:
        inner, pads = pad_same(b, inner, kernel, strides, dilations, zero), {}
    return b.nodes(op, inner, *operands, kernel_shape=list(kernel), **window, **pads)[0]
