"""ToBool: the truth of a tensor in control flow."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import rank
from tfport.fix.rule import EXACT, Replacement, rule
from tfport.graph.dtypes import BOOL, STRING
from tfport.graph.graph import Node


@rule("ToBool", keeps=EXACT)
def not_zero_or_not_empty(op: NodeBuilder, n: Node) -> Replacement:
    """A scalar is true if it is not zero or empty; any other tensor is true if it has elements."""
    x = n.inputs[0]
    if rank(op, x, "tensor"):
        return op.Greater(op.Size(x), 0)
    if x.dtype.base == BOOL:
        return op.Identity(x)
    return op.NotEqual(x, op.const("" if x.dtype.base == STRING else 0, x.dtype.base))
