"""In-place changes of rows, and the tensors that are created for them."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import cast, count_to, size_at
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value


@rule("InplaceUpdate", keeps=EXACT)
def rows_stitched(op: NodeBuilder, n: Node) -> Replacement:
    """DynamicStitch writes the rows of the tensor, then the new rows; the last one written stays."""
    x, rows, values = _alone(op, n)
    return op.DynamicStitch([count_to(op, size_at(op, x, 0)), rows], [x, values])


@rule("InplaceAdd InplaceSub", keeps=EXACT)
def rows_combined(op: NodeBuilder, n: Node) -> Replacement:
    """The update is added to, or subtracted from, one gathered row, which is written back."""
    x, rows, values = _alone(op, n)
    if (count := op.shape(rows)) is None or count not in ((), (0,), (1,)):
        return refuse("it may update the same row several times")
    old = op.Gather(x, rows)
    new = op.Add(old, values) if n.op.endswith("Add") else op.Sub(old, values)
    return op.DynamicStitch([count_to(op, size_at(op, x, 0)), rows], [x, new])


def _alone(op: NodeBuilder, n: Node) -> tuple[Value, Value, Value]:
    x, rows, values = n.inputs
    if len(x.uses) > 1:
        raise refuse(f"`{x}` has other readers, which may see the change")
    return x, cast(op, rows, INT32), values


@rule("Empty", keeps=EXACT)
def filled(op: NodeBuilder, n: Node) -> Replacement:
    """The elements of Empty are undefined, so zeros are valid."""
    return op.Fill(n.inputs[0], op.const(0, n.outputs[0].dtype.base))


@rule("DeepCopy", keeps=EXACT)
def handed_on(op: NodeBuilder, n: Node) -> Replacement:
    """A copy that is not changed in place can be an Identity."""
    if any(user.op.startswith("Inplace") and op.has(user.op) for user in n.outputs[0].uses):
        return refuse("a reader changes the copy in place")
    return op.Identity(n.inputs[0])


@rule("AccumulateNV2", keeps=ROUNDING)
def added_at_once(op: NodeBuilder, n: Node) -> Replacement:
    """AddN adds the same tensors, in a different order."""
    return op.AddN(list(n.inputs))
