"""Elements in another type."""

from __future__ import annotations

from tfport.frontends.lite.builder import OperatorBuilder
from tfport.frontends.lite.operator import builtin
from tfport.frontends.lite.tensor import LiteValue
from tfport.graph.graph import Node


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
