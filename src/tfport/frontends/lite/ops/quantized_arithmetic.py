"""Arithmetic and comparisons of two quantized tensors, with broadcasting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import quantized_multiplier, rescale
from tfport.frontends.lite.lookup_tables import values_of
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.quantized_value import (
    INT16,
    QuantizedOutput,
    QuantizedValue,
    as_stored,
    quantized_input,
    quantized_output,
    unsigned,
)
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value

COMPARISONS = {
    "EQUAL": "Equal", "NOT_EQUAL": "NotEqual", "LESS": "Less", "LESS_EQUAL": "LessEqual",
    "GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual",
}  # fmt: skip


def fixed(prefix: str, real: Any) -> dict[str, int]:
    """A factor as two attributes."""
    multiplier, shift = quantized_multiplier(float(real))
    return {f"{prefix}multiplier": multiplier, f"{prefix}shift": shift}


def zeros(x: QuantizedValue, other: QuantizedValue) -> dict[str, int]:
    return {"x_zero": x.zero_point, "other_zero": other.zero_point}


@quantized("ADD SUB")
def add_sub(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    fused_activation_function: str = "NONE",
    pot_scale_int16: bool = True,
) -> Value:
    left, right = quantized_input(b, x), quantized_input(b, y)
    output = quantized_output(b, fused_activation_function)
    subtract = b.operator.code.op == "SUB"
    if output.dtype == INT16 and pot_scale_int16 and (powers := _powers(left, right, output)) is not None:
        x_shift, other_shift = powers
        return b.LiteAddPowersOfTwo(
            left.value, right.value, subtract=subtract, x_shift=x_shift, other_shift=other_shift,
            low=output.low, high=output.high,
        ).output(0)  # fmt: skip
    bits = 15 if output.dtype == INT16 else 20
    both = _common_scale(left, right)
    node = b.LiteAdd(
        left.value, right.value, subtract=subtract, left_shift=bits, **both,
        **fixed("", np.float64(_twice(left, right)) / np.float64(np.float32(1 << bits) * output.scale)),
        **zeros(left, right), **output.limits,
    )  # fmt: skip
    return as_stored(b, node)


def _twice(x: QuantizedValue, other: QuantizedValue) -> np.float32:
    return np.float32(2) * max(x.scale, other.scale)


def _common_scale(x: QuantizedValue, other: QuantizedValue) -> dict[str, int]:
    """The factors of both inputs to twice the larger scale."""
    twice = np.float64(_twice(x, other))
    return fixed("x_", np.float64(x.scale) / twice) | fixed("other_", np.float64(other.scale) / twice)


def _powers(x: QuantizedValue, other: QuantizedValue, output: QuantizedOutput) -> tuple[int, int] | None:
    """The shifts of both inputs to the scale of the output, if all scales are powers of two."""
    logs = [_log2(scale) for scale in (x.scale, other.scale, output.scale)]
    if None in logs:
        return None
    first, second, target = (log for log in logs if log is not None)
    return first - target, second - target


def _log2(scale: np.float32) -> int | None:
    """The logarithm of a power of two, as kernels check it: within 0.001."""
    log = math.log2(scale) if scale > 0 else math.nan
    return None if math.isnan(log) or abs(log - round(log)) >= 1e-3 else round(log)


@quantized("MUL")
def mul(b: OperatorBuilder, x: LiteValue, y: LiteValue, *, fused_activation_function: str = "NONE") -> Value:
    return _scaled(b, "LiteMul", x, y, fused_activation_function)


@quantized("DIV")
def div(b: OperatorBuilder, x: LiteValue, y: LiteValue, *, fused_activation_function: str = "NONE") -> Value:
    return _scaled(b, "LiteDiv", x, y, fused_activation_function)


def _scaled(b: OperatorBuilder, op: str, x: LiteValue, y: LiteValue, activation: str) -> Value:
    left, right, output = quantized_input(b, x), quantized_input(b, y), quantized_output(b, activation)
    if op == "LiteMul":
        real = left.scale * right.scale / output.scale
    else:
        real = left.scale / (right.scale * output.scale)
    node = b.node(op, left.value, right.value, **fixed("", real), **zeros(left, right), **output.limits)
    return as_stored(b, node)


@quantized("SQUARED_DIFFERENCE")
def squared_difference(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Value:
    left, right, output = quantized_input(b, x), quantized_input(b, y), quantized_output(b)
    twice = np.float64(_twice(left, right))
    real = twice * twice / np.float64(np.float32(1 << 14) * output.scale)
    node = b.LiteSquaredDifference(
        left.value, right.value, **_common_scale(left, right), **fixed("", real), **zeros(left, right),
        **output.limits,
    )  # fmt: skip
    return as_stored(b, node)


@quantized("MAXIMUM MINIMUM")
def maximum_minimum(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Value:
    """The values are compared as they are: all scales are the same."""
    op = "Maximum" if b.operator.code.op == "MAXIMUM" else "Minimum"
    if x.type != "INT8":
        return b.node(op, x, y).output(0)
    return as_stored(b, b.node(op, unsigned(b, x), unsigned(b, y)))


@quantized("PRELU")
def prelu(b: OperatorBuilder, x: LiteValue, alpha: LiteValue) -> Value:
    left, slope, output = quantized_input(b, x), quantized_input(b, alpha), quantized_output(b)
    node = b.LitePrelu(
        left.value, slope.value, **fixed("", left.scale / output.scale),
        **fixed("alpha_", left.scale * slope.scale / output.scale), x_zero=left.zero_point,
        alpha_zero=slope.zero_point, **output.limits,
    )  # fmt: skip
    return as_stored(b, node)


@quantized("EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL")
def compare(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    """Both sides are scaled to fixed point, so that values that are nearly equal may compare as equal."""
    return b.node(COMPARISONS[b.operator.code.op], _scaled_up(b, x), _scaled_up(b, y))


def _scaled_up(b: OperatorBuilder, x: LiteValue) -> Node:
    source = quantized_input(b, x)
    multiplier, shift = quantized_multiplier(float(source.scale))
    table = rescale(values_of(source) << 8, multiplier, shift).astype(np.int32)
    return b.LiteLookup(source.value, b.const(table, INT32))
