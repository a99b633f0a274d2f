"""Kernels of old releases that lose precision: the same numbers by other ones."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Node
from tfport.graph.tensors import Tensor

FLOAT64 = DType.parse("float64")
KEPT = -(1 << 16)
"""The bits of a float32 that a bfloat16 has."""
HALF = (1 << 15) - 1
LAST = 1 << 16


@rule("Sin Cos", keeps=ROUNDING)
def angles_in_double(op: RuleBuilder, n: Node) -> Replacement:
    """In float64 also the sines and cosines of large angles are right in old releases."""
    if n.attrs["T"] != FLOAT32:
        return OtherProblem(f"it is computed in {n.attrs['T']}")
    wide = op.node(n.op, op.Cast(n.inputs[0], DstT=FLOAT64))
    return op.Cast(wide, DstT=FLOAT32)


@rule("Cast", keeps=EXACT)
def rounded_by_bits(op: RuleBuilder, n: Node) -> Replacement:
    """To the nearest bfloat16, ties to even: what is cut off afterwards is zero."""
    dtype = n.attrs["DstT"]
    if dtype.name != "bfloat16":
        return OtherProblem("it does not cast to bfloat16")
    if n.attrs.get("Truncate"):
        return refuse("Truncate=True cuts bits off")
    if n.inputs[0].dtype.base.is_complex:
        return refuse("it casts complex numbers")
    x = op.cast(n.inputs[0], FLOAT32)
    bits = op.Bitcast(x, type=INT32)
    is_odd = op.Cast(op.NotEqual(op.BitwiseAnd(bits, LAST), 0), DstT=INT32)
    # BitwiseAnd of 1.4 takes the result to have the shape of its first input
    nearest = op.BitwiseAnd(op.Add(bits, op.Add(is_odd, HALF)), KEPT)
    # the sum of a NaN and itself has one of the kept bits
    rounded = op.Select(op.IsNan(x), op.Add(x, x), op.Bitcast(nearest, type=FLOAT32))
    return op.Cast(rounded, DstT=dtype)


@rule("Const", keeps=EXACT)
def as_raw_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """All releases read constants of bfloat16 that are raw bytes, and not a list."""
    value = n.attrs["value"]
    if not isinstance(value, Tensor) or value.dtype.name != "bfloat16":
        return OtherProblem("it is not a constant of bfloat16")
    return op.const(value.numpy(), value.dtype)
