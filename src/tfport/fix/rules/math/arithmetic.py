"""Elementwise arithmetic as older and newer ops."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import NodeOrValue, covers, first, with_shape_of
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import STRING
from tfport.graph.graph import Node, Value


@rule("AddV2", keeps=EXACT)
def as_add(op: NodeBuilder, n: Node) -> Replacement:
    """Add adds the same numbers; unlike AddV2, it also concatenates strings."""
    return op.Add(*n.inputs)


@rule("Add", keeps=EXACT)
def as_add_v2(op: NodeBuilder, n: Node) -> Replacement:
    """AddV2 adds all numbers that Add does."""
    if n.attrs["T"] == STRING:
        return refuse("AddV2 does not support strings")
    return op.AddV2(*n.inputs)


@rule("Div", keeps=EXACT)
def division_by_type(op: NodeBuilder, n: Node) -> Replacement:
    """Div is RealDiv for real and complex numbers, and TruncateDiv for integers."""
    return op.TruncateDiv(*n.inputs) if _is_integer(n) else op.RealDiv(*n.inputs)


@rule("RealDiv TruncateDiv", keeps=EXACT)
def as_div(op: NodeBuilder, n: Node) -> Replacement:
    """Div divides real numbers as RealDiv does, and integers as TruncateDiv does."""
    if _is_integer(n) != (n.op == "TruncateDiv"):
        return refuse(f"Div computes something else for {n.attrs['T']}")
    return op.Div(*n.inputs)


OTHER_NAMES = {
    "Mod": "TruncateMod",
    "TruncateMod": "Mod",
    "Inv": "Reciprocal",
    "Reciprocal": "Inv",
}
"""Pairs of ops that share a kernel."""


@rule(" ".join(OTHER_NAMES), keeps=EXACT)
def by_its_other_name(op: NodeBuilder, n: Node) -> Replacement:
    """Both names have the same kernel."""
    return op.node(OTHER_NAMES[n.op], *n.inputs)


@rule("DivNoNan", keeps=EXACT)
def quotient_or_zero(op: NodeBuilder, n: Node) -> Replacement:
    """The quotient, or zero if the divisor is zero."""
    x, y = n.inputs
    return _zero_where(op, op.Equal(y, 0), y, with_shape_of(op, op.RealDiv(x, y), n.output(0)))


@rule("MulNoNan", keeps=EXACT)
def product_or_zero(op: NodeBuilder, n: Node) -> Replacement:
    """The product, or zero if the second factor is zero."""
    x, y = n.inputs
    return _zero_where(op, op.Equal(y, 0), y, with_shape_of(op, op.Mul(x, y), n.output(0)))


@rule("Xdivy", keeps=EXACT)
def zero_or_quotient(op: NodeBuilder, n: Node) -> Replacement:
    """The quotient, or zero if the dividend is zero."""
    x, y = n.inputs
    return _zero_where(op, op.Equal(x, 0), x, with_shape_of(op, op.RealDiv(x, y), n.output(0)))


@rule("Xlogy Xlog1py", keeps=ROUNDING)
def zero_or_log(op: NodeBuilder, n: Node) -> Replacement:
    """The product with the logarithm, or zero if the first factor is zero."""
    x, y = n.inputs
    log = op.Log(y) if n.op == "Xlogy" else op.Log1p(y)
    return _zero_where(op, op.Equal(x, 0), x, with_shape_of(op, op.Mul(x, log), n.output(0)))


def _zero_where(op: NodeBuilder, condition: Node, of: Value, result: Value) -> Node:
    """Zero where a condition holds; the condition has the shape of one operand."""
    return op.Select(truth_over(op, with_shape_of(op, condition, of), result), op.ZerosLike(result), result)


def truth_over(op: NodeBuilder, condition: NodeOrValue, result: Value) -> Value:
    """Bools broadcast to the shape of a result."""
    own, out = op.shape(first(condition)), op.shape(result)
    if own is not None and own == out and covers(own, out):
        return first(condition)
    return op.LogicalOr(condition, op.Fill(op.Shape(result), False)).output(0)


def _is_integer(n: Node) -> bool:
    kind = n.outputs[0].dtype.base
    return not (kind.is_floating or kind.is_complex)
