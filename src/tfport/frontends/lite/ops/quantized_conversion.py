"""Quantized tensors in another form: QUANTIZE, DEQUANTIZE, and CONCATENATION of several scales."""

from __future__ import annotations

import numpy as np

from tfport.formats.lite.records import TensorQuantization
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import quantized_multiplier, rescale, round_away
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.ops.quantized_unary import known_function
from tfport.frontends.lite.quantized_value import (
    INT16,
    OFFSETS,
    SHIFT,
    UINT8,
    QuantizedOutput,
    QuantizedValue,
    as_stored,
    quantized_input,
    quantized_output,
)
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32, INT32
from tfport.graph.graph import Value

NARROW = {"INT4": (-8, 7), "UINT4": (0, 15)}


@quantized("QUANTIZE")
def quantize(b: OperatorBuilder, x: LiteValue) -> Value:
    if x.dtype == FLOAT32:
        return _from_real(b, x)
    record, quantization = b.outputs[0], _of_output(b)
    if not x.quantization.scale:
        raise b.refuse("its input has no scale")
    real = float(np.float64(np.float32(x.scale)) / np.float64(np.float32(quantization.scale[0])))
    multiplier, shift = quantized_multiplier(real)
    if record.type == "INT32" or x.type == "INT32":
        zero = (quantization.zero_point or (0,))[0]
        bounds = {"INT32": (-(2**31), 2**31 - 1), "INT16": (-32768, 32767), "INT8": (0, 255)}
        if record.type not in bounds:
            raise b.refuse(f"its output is {record.type.lower()}, expected int8, int16 or int32")
        low, high = bounds[record.type]
        target = {"INT32": INT32, "INT16": INT16, "INT8": UINT8}[record.type]
        y_zero = zero + OFFSETS.get(record.type, 0)
        y = b.LiteRescale(
            x, T=target, multiplier=multiplier, shift=shift, x_zero=x.zero_point, y_zero=y_zero, low=low,
            high=high,
        )  # fmt: skip
        return as_stored(b, y)
    source, output = quantized_input(b, x), quantized_output(b)
    first = -32768 if x.type == "INT16" else 0
    values = np.arange(first, first + (65536 if x.type == "INT16" else 256), dtype=np.int64)
    scaled = rescale(values - source.zero_point, multiplier, shift) + output.zero_point
    table = np.clip(scaled, output.low, output.high).astype(output.dtype.numpy)
    entries = b.const(table, output.dtype)
    if source.value.dtype == output.dtype == UINT8:
        return as_stored(b, known_function(b, source, output, entries))
    return as_stored(b, b.LiteLookup(source.value, entries))


def _of_output(b: OperatorBuilder) -> TensorQuantization:
    """The scales of the output, which a damaged file may lack."""
    quantization = b.outputs[0].quantization
    if quantization is None or not quantization.scale:
        raise b.refuse("its output has no scale")
    return quantization


def _from_real(b: OperatorBuilder, x: LiteValue) -> Value:
    record, quantization = b.outputs[0], _of_output(b)
    points = list(quantization.zero_point) or [0]
    if record.type in NARROW:
        low, high = NARROW[record.type]
        return b.LiteQuantize(
            x, T=b.dtype(record.type), scale=list(quantization.scale), zero_point=points,
            axis=quantization.axis, low=low, high=high,
        ).output(0)  # fmt: skip
    if record.type not in OFFSETS:
        raise b.refuse(f"its output is {record.type.lower()}, expected integers of 4, 8 or 16 bits")
    offset = OFFSETS[record.type]
    low, high = (-32768, 32767) if record.type == "INT16" else (0, 255)
    y = b.LiteQuantize(
        x, T=INT16 if record.type == "INT16" else UINT8, scale=list(quantization.scale),
        zero_point=[point + offset for point in points], axis=quantization.axis, low=low, high=high,
    )  # fmt: skip
    return as_stored(b, y)


@quantized("DEQUANTIZE")
def dequantize(b: OperatorBuilder, x: LiteValue) -> Value:
    points = list(x.quantization.zero_point) or [0]
    value = x.value
    if x.type == "INT8" and x.load is None and not x.quantization.is_per_channel:
        value, points = quantized_input(b, x).value, [point + SHIFT for point in points]
    scales = list(x.quantization.scale)
    return b.LiteDequantize(value, scale=scales, zero_point=points, axis=x.quantization.axis).output(0)


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
    return known_function(b, x, output, b.const(table, output.dtype)).output(0)
