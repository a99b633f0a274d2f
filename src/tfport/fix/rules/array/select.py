"""Selection by a condition, and indices of true elements."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import covers, sizes, with_shape_of
from tfport.fix.rule import EXACT, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import BOOL
from tfport.graph.graph import Node, Value


@rule("SelectV2", keeps=EXACT)
def all_of_one_shape(op: NodeBuilder, n: Node) -> Replacement:
    """Select needs equal shapes or a scalar condition, so the inputs are broadcast first."""
    condition, yes, no = n.inputs
    shapes = [op.shape(value) for value in n.inputs]
    if shapes[0] == () and _same(op, yes, no):
        return op.Select(condition, yes, no)
    whole = next((v for v in n.inputs if all(covers(op.shape(v), other) for other in shapes)), None)
    shape = (
        sizes(op, whole if whole is not None else n.output(0)) if _is_shape_available(op, n, whole) else None
    )
    if shape is None:
        parts = [sizes(op, value) for value in n.inputs]
        shape = op.BroadcastArgs(op.BroadcastArgs(parts[0], parts[1]), parts[2]).output(0)
    out = op.shape(n.output(0))

    def spread(value: Value) -> Value:
        if all(covers(op.shape(value), other) for other in shapes):
            return value
        made = op.BroadcastTo(value, shape)
        return with_shape_of(op, made, n.output(0)) if out is not None else made.output(0)

    return op.Select(*[spread(value) for value in n.inputs])


def _is_shape_available(op: NodeBuilder, n: Node, whole: Value | None) -> bool:
    """Whether the common shape need not be computed: an input has it, or it is known."""
    out = op.shape(n.output(0))
    return whole is not None or (out is not None and None not in out)


def _same(op: NodeBuilder, a: Value, b: Value) -> bool:
    left, right = op.shape(a), op.shape(b)
    return a is b or (left is not None and left == right and None not in left)


@rule("Select", keeps=EXACT)
def as_select_v2(op: NodeBuilder, n: Node) -> Replacement:
    """SelectV2 broadcasts; a condition per row is reshaped with trailing axes of size one."""
    condition, yes, no = n.inputs
    shape, rows = op.shape(condition), op.shape(yes)
    if shape is None or rows is None:
        return refuse("the ranks of its condition and its values are unknown")
    if len(shape) == 1 and len(rows) > 1:
        last = [-1] + [1] * (len(rows) - 1)
        return op.SelectV2(op.Reshape(condition, last), yes, no)
    return op.SelectV2(condition, yes, no)


@rule("Where", keeps=EXACT)
def where_not_zero(op: NodeBuilder, n: Node) -> Replacement:
    """The older Where takes bools: whether each element differs from zero."""
    if n.inputs[0].dtype.base == BOOL:
        return OtherProblem("its input is bool already")
    return op.Where(op.NotEqual(n.inputs[0], 0), T="bool")
