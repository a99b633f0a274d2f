"""Counts of each number in each row, as sparse tensors."""

from __future__ import annotations

from collections.abc import Callable

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, lengths_of, wide
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import NodeOrValue, item, rank
from tfport.graph.dtypes import INT64
from tfport.graph.graph import Node, Value

OPS = "DenseCountSparseOutput RaggedCountSparseOutput SparseCountSparseOutput"


@rule(OPS, keeps=EXACT)
def counted_by_number(op: RuleBuilder, n: Node) -> Replacement:
    """The pairs of row and number are numbered by Unique, counted by segment, and sorted."""
    weights = n.inputs[-1]
    counts = n.attrs["binary_output"] or op.shape(weights) == (0,)
    if not counts and not weights.dtype.is_integer:
        return refuse(f"the order of adding {weights.dtype} weights matters")
    return _counted(op, n)


@rule(OPS, keeps=ROUNDING)
def weighed_by_number(op: RuleBuilder, n: Node) -> Replacement:
    """The pairs of row and number are numbered by Unique, their weights added by segment, and sorted."""
    return _counted(op, n)


def _counted(op: RuleBuilder, n: Node) -> Replacement:
    numbers, rows, row_count = PARTS[n.op](op, n)
    longest, shortest = n.attrs["maxlength"], n.attrs["minlength"]
    assert isinstance(longest, int)
    assert isinstance(shortest, int)
    zero, step = op.const(0, INT64), op.const(1, INT64)
    weights = _weights(op, n, numbers)
    if longest >= 0:  # larger numbers are left out
        kept = op.Reshape(op.Where(op.Less(numbers, op.const(longest, INT64))), [-1])
        numbers, weights = op.Gather(numbers, kept), op.Gather(weights, kept)
        rows = op.Gather(rows, kept) if rows is not None else None
    size = op.Add(op.Maximum(op.Max(numbers, [0]), zero), step)
    keys = numbers if rows is None else op.Add(op.Mul(rows, size), numbers)
    unique = op.Unique(keys, out_idx="int32")
    count = op.Size(unique, out_type="int32")
    order = op.TopKV2(op.Neg(unique), count, sorted=True).output(1)
    pairs = op.Gather(unique, order)
    sums = op.UnsortedSegmentSum(weights, unique.output(1), count)
    if n.attrs["binary_output"]:
        sums = op.OnesLike(sums)
    shortest_size = op.const(max(shortest, 0), INT64)
    width = op.const(longest, INT64) if longest >= 0 else op.Maximum(size, shortest_size).output(0)
    answers = op.Gather(sums, order)
    if rows is None or row_count is None:
        return [op.ExpandDims(pairs, 1), answers, op.ExpandDims(width, 0)]
    row = op.FloorDiv(pairs, size)
    within = op.Sub(pairs, op.Mul(row, size))
    return [op.Pack([row, within], axis=1), answers, op.Pack([row_count, width])]


def _weights(op: RuleBuilder, n: Node, numbers: NodeOrValue) -> NodeOrValue:
    """The weight of each number; 1 if there are none."""
    weights = n.inputs[-1]
    dims = op.shape(weights)
    if n.attrs["binary_output"] or dims == (0,):
        return op.Fill(op.Shape(numbers, out_type="int32"), op.const(1, weights.dtype.base))
    if dims is None or dims == (None,):
        raise refuse("whether it has weights is known only at run time")
    return op.Reshape(weights, [-1])


Parts = tuple[NodeOrValue, NodeOrValue | None, NodeOrValue | None]
"""The numbers, the row of each number, and the number of rows; no rows for a vector."""


def _dense(op: RuleBuilder, n: Node) -> Parts:
    values = n.inputs[0]
    if (axes := rank(op, values, "input")) not in (1, 2):
        raise refuse(f"its input has {axes} axes")
    numbers = wide(op, values)
    if axes == 1:
        return numbers, None, None
    shape = op.Shape(values, out_type="int32")
    rows, width = (op.Cast(item(op, shape, axis), DstT="int64") for axis in (0, 1))
    flat = op.Reshape(numbers, [-1])
    own = op.Range(op.const(0, INT64), count_of(op, flat), op.const(1, INT64))
    return flat, op.FloorDiv(own, op.Maximum(width, op.const(1, INT64))), rows


def _ragged(op: RuleBuilder, n: Node) -> Parts:
    lengths = lengths_of(op, wide(op, n.inputs[0]))
    return wide(op, n.inputs[1]), column(op, indices_of(op, lengths), 0), count_of(op, lengths)


def _sparse(op: RuleBuilder, n: Node) -> Parts:
    indices, values, shape, _ = n.inputs
    axes = _axes(op, indices, shape)
    if axes not in (1, 2):
        raise refuse(f"its tensor has {axes} axes")
    numbers = wide(op, values)
    return (numbers, None, None) if axes == 1 else (numbers, column(op, indices, 0), item(op, shape, 0))


def _axes(op: RuleBuilder, indices: Value, shape: Value) -> int:
    for dims in (op.shape(shape), op.shape(indices)):
        if dims and dims[-1] is not None:
            return dims[-1]
    raise refuse("the rank of its tensor is unknown")


PARTS: dict[str, Callable[[RuleBuilder, Node], Parts]] = {
    "DenseCountSparseOutput": _dense,
    "RaggedCountSparseOutput": _ragged,
    "SparseCountSparseOutput": _sparse,
}
