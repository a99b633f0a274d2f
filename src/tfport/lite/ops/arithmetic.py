"""Arithmetic of two tensors, with broadcasting."""

from __future__ import annotations

from tfport.graph.graph import Value
from tfport.lite.activations import activate
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue

OPS = {"ADD": "AddV2", "SUB": "Sub", "MUL": "Mul"}


@builtin("ADD SUB MUL")
def add_sub_mul(
    b: OperatorBuilder, x: LiteValue, y: LiteValue, *, fused_activation_function: str = "NONE"
) -> Value:
    return activate(b, b.node(OPS[b.operator.code.op], x, y), fused_activation_function)
