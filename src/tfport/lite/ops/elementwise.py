"""Functions of each element: math, rounding, signs, and parts of complex numbers."""

from __future__ import annotations

from tfport.graph.graph import Node
from tfport.lite.builder import OperatorBuilder
from tfport.lite.operator import builtin
from tfport.lite.tensor import LiteValue

OPS = {
    "ABS": "Abs", "CEIL": "Ceil", "COS": "Cos", "EXP": "Exp", "FLOOR": "Floor", "LOG": "Log",
    "LOGICAL_NOT": "LogicalNot", "NEG": "Neg", "ROUND": "Round", "RSQRT": "Rsqrt",
    "SIN": "Sin", "SQRT": "Sqrt", "SQUARE": "Square",
}  # fmt: skip
PARTS = {"REAL": "Real", "IMAG": "Imag", "COMPLEX_ABS": "ComplexAbs"}


@builtin("ABS CEIL COS EXP FLOOR LOG LOGICAL_NOT NEG ROUND RSQRT SIN SQRT SQUARE")
def elementwise(b: OperatorBuilder, x: LiteValue) -> Node:
    return b.node(OPS[b.operator.code.op], x)


@builtin("SIGN")
def sign(b: OperatorBuilder, x: LiteValue) -> Node:
    """NaN has the sign 0."""
    return b.Sub(b.cast(b.Greater(x, 0), x.dtype), b.cast(b.Less(x, 0), x.dtype))


@builtin("REAL IMAG COMPLEX_ABS")
def part_of_complex(b: OperatorBuilder, x: LiteValue) -> Node:
    part = b.dtype("FLOAT64" if x.type == "COMPLEX128" else "FLOAT32")
    return b.node(PARTS[b.operator.code.op], x, Tout=part)
