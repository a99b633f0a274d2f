"""Functions of one quantized tensor. All of them are tables of their results for each value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.fixed_point import (
    LARGEST,
    divide_by_power,
    high_product,
    inverse_sqrt,
    quantized_multiplier,
    rescale,
)
from tfport.frontends.lite.lookup_tables import (
    bounded,
    logistic_of_int16,
    real_table,
    tanh_of_int16,
    values_of,
)
from tfport.frontends.lite.operator import quantized
from tfport.frontends.lite.quantized_value import (
    INT16,
    QuantizedOutput,
    QuantizedValue,
    as_stored,
    quantized_input,
    quantized_output,
)
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value

if TYPE_CHECKING:
    from numpy.typing import NDArray

Table = Callable[[QuantizedValue, QuantizedOutput], "NDArray[Any]"]
ERFC = np.vectorize(math.erfc, otypes=[np.float64])
SQRT_2_PI = np.float32(math.sqrt(2 / math.pi))


def looked_up(
    b: OperatorBuilder,
    x: LiteValue,
    table: Table,
    activation: str = "NONE",
    function: str = "",
    alpha: float = 0.0,
) -> Value:
    """The output of a table of the input's values; `function` is the ONNX op that computes the same."""
    source, output = quantized_input(b, x), quantized_output(b, activation)
    if b.outputs[0].type != x.type:
        raise b.refuse(f"an output of type {b.outputs[0].type.lower()} is not supported")
    is_wide = source.value.dtype == INT16
    if source.zero_point and is_wide:
        raise b.refuse("int16 with a zero point is not supported")
    entries = b.lazy_constant(lambda: table(source, output), output.dtype, [65536 if is_wide else 256])
    if is_wide or not function:
        return as_stored(b, b.LiteLookup(source.value, entries))
    return as_stored(b, known_function(b, source, output, entries, function, alpha))


def known_function(
    b: OperatorBuilder,
    x: QuantizedValue,
    output: QuantizedOutput,
    table: Value,
    function: str = "Identity",
    alpha: float = 0.0,
) -> Node:
    """A table of bytes of a known function; of `Identity`, it is only rescaled."""
    return b.LiteFunction(
        x.value, table, function=function, alpha=alpha, x_scale=float(x.scale), x_zero=x.zero_point,
        y_scale=float(output.scale), **output.limits,
    )  # fmt: skip


@quantized("LOGISTIC TANH")
def logistic_tanh(b: OperatorBuilder, x: LiteValue) -> Value:
    is_tanh = b.operator.code.op == "TANH"
    if x.type == "INT16":
        table = tanh_of_int16 if is_tanh else logistic_of_int16
        return looked_up(b, x, lambda source, output: table(source.scale))
    function: Callable[[Any], Any] = np.tanh if is_tanh else _logistic
    return looked_up(b, x, _of_reals(function), function="Tanh" if is_tanh else "Sigmoid")


def _logistic(x: Any) -> Any:
    return np.float32(1) / (np.float32(1) + np.exp(-x))


@quantized("ELU EXP GELU")
def real_function(b: OperatorBuilder, x: LiteValue, *, approximate: bool = False) -> Value:
    functions: dict[str, Callable[[Any], Any]] = {
        "ELU": _elu,
        "EXP": np.exp,
        "GELU": _gelu_by_tanh if approximate else _gelu,
    }
    name = {"ELU": "Elu", "EXP": "Exp", "GELU": "" if approximate else "Gelu"}[b.operator.code.op]
    return looked_up(b, x, _of_reals(functions[b.operator.code.op]), function=name)


def _of_reals(function: Callable[[Any], Any]) -> Table:
    return lambda source, output: real_table(source, output, function)


def _elu(x: Any) -> Any:
    return np.where(x < 0, np.expm1(x), x)


def _gelu(x: Any) -> Any:
    tail = ERFC((x * np.float32(-math.sqrt(0.5))).astype(np.float64)).astype(np.float32)
    return np.float32(0.5) * x * tail


def _gelu_by_tanh(x: Any) -> Any:
    inner = SQRT_2_PI * (x + np.float32(0.044715) * x * x * x)
    return np.float32(0.5) * x * (np.float32(1) + np.tanh(inner))


@quantized("LOG")
def log(b: OperatorBuilder, x: LiteValue) -> Value:
    """The smallest output for numbers that have no logarithm."""

    def table(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
        least = np.float32(output.low - output.zero_point) * output.scale
        return real_table(source, output, lambda v: np.where(v <= 0, least, np.log(np.maximum(v, 1e-38))))

    return looked_up(b, x, table)


@quantized("RSQRT")
def rsqrt(b: OperatorBuilder, x: LiteValue) -> Value:
    """The largest output for zero. Kernels fail for negative numbers, which have the same here."""
    return looked_up(b, x, _rsqrt_of_int16 if x.type == "INT16" else _rsqrt_of_bytes)


def _rsqrt_of_int16(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
    most = np.float32(32767) * output.scale
    return real_table(
        source, output, lambda v: np.where(v <= 0, most, np.float32(1) / np.sqrt(np.maximum(v, 1e-38)))
    )


def _rsqrt_of_bytes(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
    multiplier, shift = quantized_multiplier(1.0 / float(np.sqrt(source.scale) * output.scale))
    values = values_of(source)
    results = np.full(values.shape, output.high - output.zero_point, np.int64)
    for index, value in enumerate(values):
        if value > 0:
            factor, exponent = inverse_sqrt(int(value))
            results[index] = rescale(rescale(1, factor, exponent + 20), multiplier, shift - 20)
    return bounded(results, output)


@quantized("SQRT")
def sqrt(b: OperatorBuilder, x: LiteValue) -> Value:
    """Rounded towards zero."""

    def table(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
        root = np.sqrt(np.maximum(source.scale * values_of(source).astype(np.float32), 0))
        return bounded((root / output.scale).astype(np.int64), output)

    return looked_up(b, x, table)


@quantized("ABS")
def absolute(b: OperatorBuilder, x: LiteValue) -> Value:
    def table(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
        size = np.abs(values_of(source))
        if source.scale != output.scale:
            size = rescale(size, *quantized_multiplier(float(source.scale / output.scale)))
        return bounded(size, output)

    return looked_up(b, x, table)


@quantized("NEG")
def negative(b: OperatorBuilder, x: LiteValue) -> Value:
    """The integers are negated as they are, without zero points."""
    return b.Neg(x).output(0)


@quantized("RELU RELU6 RELU_N1_TO_1 RELU_0_TO_1")
def relu(b: OperatorBuilder, x: LiteValue) -> Value:
    def table(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
        factor = quantized_multiplier(float(source.scale / output.scale))
        return bounded(rescale(values_of(source), *factor), output)

    return looked_up(b, x, table, b.operator.code.op, function="Identity")


@quantized("LEAKY_RELU")
def leaky_relu(b: OperatorBuilder, x: LiteValue, *, alpha: float) -> Value:
    def table(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
        slope = float(source.scale * np.float32(alpha) / output.scale)
        values = values_of(source)
        negative = rescale(values, *quantized_multiplier(abs(slope))) * (1 if slope >= 0 else -1)
        positive = rescale(values, *quantized_multiplier(float(source.scale / output.scale)))
        return bounded(np.where(values >= 0, positive, negative), output)

    return looked_up(b, x, table, function="LeakyRelu", alpha=alpha)


@quantized("HARD_SWISH")
def hard_swish(b: OperatorBuilder, x: LiteValue) -> Value:
    if x.type == "INT16":
        raise b.refuse("int16 is not supported")
    return looked_up(b, x, _hard_swish, function="HardSwish")


def _hard_swish(source: QuantizedValue, output: QuantizedOutput) -> NDArray[Any]:
    """In 16-bit fixed point: x, and relu6(x + 3) / 6 with one bit more than it needs."""
    fine = np.float32(1 / 128) * source.scale
    factor, exponent = quantized_multiplier(float(fine / output.scale))
    relu_factor, relu_exponent = quantized_multiplier(float(fine / np.float32(3 / 32768)))
    high = values_of(source) << 7
    scaled = high_product(high, _half_width(factor), 15)
    relu = _saturated(high << (relu_exponent - 1)) if relu_exponent > 0 else high
    relu = high_product(relu, _half_width(relu_factor), 15)
    if relu_exponent > 0:
        relu = _saturated(relu << 1)
    elif relu_exponent < 0:
        relu = divide_by_power(relu, -relu_exponent)
    relu = (relu + (1 << 15)) >> 1
    product = relu * scaled
    towards_zero = np.where(product >= 0, product >> 15, -(-product >> 15))
    return bounded(divide_by_power(towards_zero, -exponent), output)


def _half_width(multiplier: int) -> int:
    """A multiplier of 31 bits in 15."""
    return 0x7FFF if multiplier >= LARGEST - (1 << 15) else (multiplier + (1 << 15)) >> 16


def _saturated(x: Any) -> Any:
    return np.clip(x, -32768, 32767)
