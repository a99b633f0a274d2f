"""Quantized tensors in ONNX: conversions to and from float32, and bounds.

ONNX rounds halves to even where TensorFlow Lite's reference kernels round them away from zero, and from
float32 where these round twice from fixed point: results may differ by one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.frontends.lite.quantized_value import UINT8
from tfport.graph.dtypes import FLOAT32, DType
from tfport.runtime.lower import CannotLower
from tfport.runtime.onnx.builder import Builder
from tfport.runtime.operand import Operand

BYTES = (0, 255)


def factor(multiplier: int, shift: int) -> float:
    """The real factor of a fixed-point multiplier."""
    return float(multiplier) * 2.0 ** (shift - 31)


def factors(multiplier: Sequence[int], shift: Sequence[int]) -> Any:
    """The real factors of fixed-point multipliers, as float32."""
    return np.array([factor(*pair) for pair in zip(multiplier, shift, strict=True)], np.float32)


def dequantized(b: Builder, x: Operand, scale: float, zero_point: int) -> Operand:
    """Quantized values as float32."""
    if x.dtype == UINT8:
        operands = (b.const(scale, FLOAT32), b.const(zero_point, UINT8))
        return b.nodes("DequantizeLinear", x, *operands, dtype=FLOAT32)[0]
    real = b.cast(x, FLOAT32)
    if zero_point:
        real = b.Sub(real, b.const(zero_point, FLOAT32))
    return real if scale == 1 else b.Mul(real, b.const(scale, FLOAT32))


def quantized(
    b: Builder, real: Operand, scale: Any, zero_point: int, dtype: DType, low: int, high: int
) -> Operand:
    """float32 as quantized values within bounds."""
    if dtype == UINT8:
        if not 0 <= zero_point <= 255:
            raise CannotLower("the zero point is not a byte")
        operands = (b.const(scale, FLOAT32), b.const(zero_point, UINT8))
        return clipped(b, b.nodes("QuantizeLinear", real, *operands, dtype=UINT8)[0], low, high)
    whole = b.Round(b.Div(real, b.const(scale, FLOAT32)))
    if zero_point:
        whole = b.Add(whole, b.const(zero_point, FLOAT32))
    return b.cast(b.Clip(whole, b.const(low, FLOAT32), b.const(high, FLOAT32)), dtype)


def clipped(b: Builder, x: Operand, low: int, high: int) -> Operand:
    """Bytes within bounds."""
    if (low, high) == BYTES:
        return x
    return b.Clip(x, b.const(low, x.dtype), b.const(high, x.dtype))
