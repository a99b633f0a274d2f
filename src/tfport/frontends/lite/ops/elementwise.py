"""Functions of each element: math and rounding."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node

OPS = {
    "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "EXP": "Exp", "FLOOR": "Floor", "LOG": "Log",
    "NEG": "Neg", "ROUND": "Round", "RSQRT": "Rsqrt",
    "SIN": "Sin", "SQRT": "Sqrt", "SQUARE": "Square",
}  # fmt: skip


@builtin("ABS CEIL COS EXP FLOOR LOG NEG ROUND RSQRT SIN SQRT SQUARE")
def elementwise(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.node(OPS[b.operator.code.op], x)
