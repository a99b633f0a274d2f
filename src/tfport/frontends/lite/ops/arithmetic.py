"""Arithmetic of two tensors, with broadcasting."""

from __future__ import annotations

from tfport.frontends.lite.activations import activate
from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node, Value

OPS = {
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
    return activate(b, b.node(OPS[b.operator.code.op], x, y), fused_activation_function)


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
    return b.node(OPS[b.operator.code.op], x, y)
