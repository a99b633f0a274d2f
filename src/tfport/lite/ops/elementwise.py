"""Functions of each element: math and rounding."""

from __future__ import annotations

from tfport.graph.graph import Node
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue

OPS = {
    "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "EXP": "Exp", "FLOOR": "Floor", "LOG": "Log",
    "NEG": "Neg", "ROUND": "Round", "RSQRT": "Rsqrt",
    "SIN": "Sin", "SQRT": "Sqrt", "SQUARE": "Square",
}  # fmt: skip


@builtin("ABS CEIL COS EXP FLOOR LOG NEG ROUND RSQRT SIN SQRT SQUARE")
def elementwise(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.node(OPS[b.operator.code.op], x)
