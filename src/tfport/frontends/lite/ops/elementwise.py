"""Functions of each element: math, activations, bits, arithmetic, types, conditions."""

from __future__ import annotations

import numpy as np

from tfport.frontends.lite.activations import activate, clip
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.dtypes import FLOAT32
from tfport.graph.graph import Node, Value

OPS = {
    "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "EXP": "Exp", "FLOOR": "Floor", "LOG": "Log",
    "NEG": "Neg", "ROUND": "Round", "RSQRT": "Rsqrt",
    "SIN": "Sin", "SQRT": "Sqrt", "SQUARE": "Square",
}  # fmt: skip


@builtin("ABS CEIL COS EXP FLOOR LOG NEG ROUND RSQRT SIN SQRT SQUARE")
def elementwise(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.node(OPS[b.operator.code.op], x)


# Activation functions and softmax

ACTIVATIONS = {"LOGISTIC": "Sigmoid", "ELU": "Elu", "LOG_SOFTMAX": "LogSoftmax"}


@builtin("RELU RELU6 RELU_N1_TO_1 TANH")
def fused_too(b: OperatorBuilder, x: LiteValue) -> Value:
    """The activations that other operators may apply to their results."""
    return activate(b, x, b.operator.code.op)


@builtin("RELU_0_TO_1")
def relu_0_to_1(b: OperatorBuilder, x: LiteValue) -> Value:
    return clip(b, x, 0.0, 1.0)


@builtin("LOGISTIC ELU LOG_SOFTMAX")
def activation(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.node(ACTIVATIONS[b.operator.code.op], x)


@builtin("GELU")
def gelu(b: OperatorBuilder, x: LiteValue, *, approximate: bool) -> Node:
    if approximate:
        cubic = b.AddV2(x, b.Mul(b.Mul(b.Mul(x, x), x), 0.044715))
        return b.Mul(b.Mul(x, 0.5), b.AddV2(b.Tanh(b.Mul(cubic, 0.7978845608028654)), 1.0))
    return b.Mul(b.Mul(x, 0.5), b.AddV2(b.Erf(b.Mul(x, 0.7071067811865476)), 1.0))


@builtin("HARD_SWISH")
def hard_swish(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Mul(x, b.Mul(b.Relu6(b.AddV2(x, 3.0)), 1 / 6))


@builtin("LEAKY_RELU")
def leaky_relu(b: OperatorBuilder, x: LiteValue, *, alpha: float) -> Node:
    return b.LeakyRelu(x, alpha=alpha)


@builtin("PRELU")
def prelu(b: OperatorBuilder, x: LiteValue, slope: LiteValue) -> Node:
    return b.AddV2(b.Maximum(x, 0.0), b.Mul(slope, b.Minimum(x, 0.0)))


@builtin("SOFTMAX")
def softmax(b: OperatorBuilder, x: LiteValue, *, beta: float) -> Node:
    """Over the last axis, of `beta * x`."""
    return b.Softmax(x if beta == 1 else b.Mul(x, beta))


@builtin("FAKE_QUANT")
def fake_quant(b: OperatorBuilder, x: LiteValue, *, min: float, max: float, num_bits: int) -> Node:
    """Rounded to the steps of integers with so many bits, halves up; the bounds move to whole steps."""
    low, high, most = np.float32(min), np.float32(max), np.float32(2**num_bits - 1)
    step = (high - low) / most
    zero = np.clip(np.floor(-low / step + np.float32(0.5)), 0, most)
    first, last = -zero * step, (most - zero) * step
    steps = b.Mul(b.Sub(clip(b, x, float(first), float(last)), float(first)), float(np.float32(1) / step))
    return b.AddV2(b.Mul(b.Floor(b.AddV2(steps, 0.5)), float(step)), float(first))


# Bits and signs


@builtin("SIGN")
def sign(b: OperatorBuilder, x: LiteValue) -> Node:
    """Zero for what is not a number, unlike TensorFlow's."""
    if not x.dtype.is_floating:
        return b.Sign(x)
    return b.Sub(b.cast(b.Greater(x, 0), x.dtype), b.cast(b.Less(x, 0), x.dtype))


@builtin("BITWISE_XOR", any_type=True)
def bitwise_xor(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.BitwiseXor(x, y)


@builtin("RIGHT_SHIFT", any_type=True)
def right_shift(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.RightShift(x, y)


# Arithmetic of two tensors, with broadcasting

ARITHMETIC = {
    "ADD": "AddV2", "SUB": "Sub", "MUL": "Mul", "MAXIMUM": "Maximum", "MINIMUM": "Minimum",
    "SQUARED_DIFFERENCE": "SquaredDifference", "POW": "Pow", "FLOOR_DIV": "FloorDiv",
    "FLOOR_MOD": "FloorMod", "ATAN2": "Atan2", "EQUAL": "Equal", "NOT_EQUAL": "NotEqual",
    "LESS": "Less", "LESS_EQUAL": "LessEqual", "GREATER": "Greater", "GREATER_EQUAL": "GreaterEqual",
}  # fmt: skip


@builtin("ADD SUB MUL")
def add_sub_mul(
    b: OperatorBuilder,
    x: LiteValue,
    y: LiteValue,
    *,
    fused_activation_function: str = "NONE",
    pot_scale_int16: bool = True,
) -> Value:
    """`pot_scale_int16` is about quantized values."""
    return activate(b, b.node(ARITHMETIC[b.operator.code.op], x, y), fused_activation_function)


@builtin("DIV")
def div(b: OperatorBuilder, x: LiteValue, y: LiteValue, *, fused_activation_function: str = "NONE") -> Value:
    """Integers are rounded towards zero, as in C."""
    quotient = b.RealDiv(x, y) if x.dtype.is_floating else b.TruncateDiv(x, y)
    return activate(b, quotient, fused_activation_function)


@builtin(
    "MAXIMUM MINIMUM SQUARED_DIFFERENCE POW FLOOR_DIV FLOOR_MOD ATAN2 "
    "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL"
)
def binary(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.node(ARITHMETIC[b.operator.code.op], x, y)


# Elements in another type


@builtin("CAST", any_type=True)
def cast(b: OperatorBuilder, x: LiteValue, *, in_data_type: str = "", out_data_type: str = "") -> Node:
    """The types of the tensors decide; the options only repeat them."""
    return b.Cast(x, DstT=b.dtype(b.outputs[0].type))


@builtin("BITCAST", any_type=True)
def bitcast(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Bitcast(x, type=b.dtype(b.outputs[0].type))


@builtin("REAL")
def real(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Real(x, Tout=b.dtype(b.outputs[0].type))


@builtin("IMAG")
def imag(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.Imag(x, Tout=b.dtype(b.outputs[0].type))


@builtin("COMPLEX_ABS")
def complex_abs(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.ComplexAbs(x, Tout=b.dtype(b.outputs[0].type))


@builtin("DENSIFY", any_type=True)
def densify(b: OperatorBuilder, x: LiteValue) -> LiteValue:
    """All elements of a sparse constant, which are already there."""
    return x


@builtin("DEQUANTIZE")
def dequantize(b: OperatorBuilder, x: LiteValue) -> Value:
    """Without a scale it widens constants that are stored as float16 or bfloat16."""
    if not x.dtype.is_floating:
        raise b.refuse(f"its input of type {x.type.lower()} has no scale")
    return b.cast(x, FLOAT32)


# Conditions


@builtin("WHERE", any_type=True)
def where(b: OperatorBuilder, condition: LiteValue) -> Node:
    return b.Where(condition)


@builtin("SELECT", any_type=True)
def select(b: OperatorBuilder, condition: LiteValue, x: LiteValue, y: LiteValue) -> Node:
    return b.Select(condition, x, y)


@builtin("SELECT_V2", any_type=True)
def select_v2(b: OperatorBuilder, condition: LiteValue, x: LiteValue, y: LiteValue) -> Node:
    return b.SelectV2(condition, x, y)


@builtin("LOGICAL_AND")
def logical_and(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.LogicalAnd(x, y)


@builtin("LOGICAL_OR")
def logical_or(b: OperatorBuilder, x: LiteValue, y: LiteValue) -> Node:
    return b.LogicalOr(x, y)


@builtin("LOGICAL_NOT")
def logical_not(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.LogicalNot(x)
