"""Quantized tensors put together."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import round_away
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.ops.quantized_unary import known_function
from tfport.frontends.lite.quantized_value import (
    INT16,
    QuantizedOutput,
    QuantizedValue,
    as_stored,
    quantized_input,
    quantized_output,
)
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Value


@quantized("CONCATENATION")
def concatenation(
    b: OperatorBuilder, *values: LiteValue, axis: int = 0, fused_activation_function: str = "NONE"
) -> Value:
    """Inputs of another scale than the output's are rescaled; kernels allow that for uint8."""
    output = quantized_output(b, fused_activation_function)
    if output.is_clipped:
        raise b.refuse(f"the activation {fused_activation_function} is not supported")
    parts = [_rescaled(b, quantized_input(b, value), output) for value in values]
    return as_stored(b, parts[0] if len(parts) == 1 else b.ConcatV2(parts, axis))


def _rescaled(b: OperatorBuilder, x: QuantizedValue, output: QuantizedOutput) -> Value:
    if (x.scale, x.zero_point) == (output.scale, output.zero_point):
        return x.value
    if output.dtype == INT16:
        raise b.refuse("int16 inputs of different scales are not supported")
    scale = x.scale * (np.float32(1) / output.scale)
    bias = np.float32(-x.zero_point) * scale
    steps = round_away(np.arange(256).astype(np.float32) * scale + bias).astype(np.int64)
    table = np.clip(steps + output.zero_point, 0, 255).astype(np.uint8)
    return known_function(b, x, output, b.constant(table, output.dtype)).output(0)
