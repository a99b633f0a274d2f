"""Bincounts, buckets and histograms: how often each number occurs, or the sum of its weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.building.sizes import NodeOrValue, count_to, item, joined, part, rank
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Node, Value

OPS = "DenseBincount RaggedBincount SparseBincount"


@rule(OPS, keeps=EXACT)
def counted_by_segment(op: RuleBuilder, n: Node) -> Replacement:
    """UnsortedSegmentSum counts the members of each segment, where each number is a segment."""
    counts = n.attrs["binary_output"] or op.shape(n.inputs[-1]) == (0,)
    if not counts and not n.inputs[-1].dtype.is_integer:
        return refuse(f"the order of adding {n.inputs[-1].dtype} weights matters")
    return _counted(op, n)


@rule(OPS, keeps=ROUNDING)
def weighed_by_segment(op: RuleBuilder, n: Node) -> Replacement:
    """UnsortedSegmentSum adds the weights of each segment, where each number is a segment."""
    return _counted(op, n)


def _counted(op: RuleBuilder, n: Node) -> NodeOrValue:
    values, size, rows, row_count, weights = PARTS[n.op](op, n)
    dtype = n.outputs[0].dtype.base
    wide = op.cast(size, INT32)
    # numbers that are too large go into an extra bin, which is cut off
    within = op.cast(op.Minimum(values, op.cast(size, values.dtype.base)), INT32)
    more = op.Add(wide, 1)
    segments = within if rows is None else op.Add(op.Mul(rows, more), within).output(0)
    total = more if row_count is None else op.Mul(row_count, more)
    unweighted = n.attrs["binary_output"] or op.shape(weights) == (0,)
    if not unweighted and op.shape(weights) is None:
        raise refuse("the shape of its weights is unknown")
    data = (
        op.Fill(op.Shape(segments), op.const(1, dtype))
        if unweighted
        else op.Reshape(weights, op.Shape(segments))
    )
    sums: NodeOrValue = op.UnsortedSegmentSum(data, segments, total)
    if n.attrs["binary_output"]:
        sums = op.Minimum(sums, 1)
    if row_count is None:
        return op.StridedSlice(sums, [0], op.ExpandDims(wide, 0), [1], begin_mask=1)
    table = op.Reshape(sums, joined(op, op.ExpandDims(row_count, 0), op.ExpandDims(more, 0)))
    until = joined(op, [0], op.ExpandDims(wide, 0))
    return op.StridedSlice(table, [0, 0], until, [1, 1], begin_mask=3, end_mask=1)


Parts = tuple[Value, Value, Value | None, Value | None, Value]
"""The numbers, the number of bins, the row of each number, the number of rows, and the weights."""


def _dense(op: RuleBuilder, n: Node) -> Parts:
    values, size, weights = n.inputs
    if (axes := rank(op, values, "input")) == 1:
        return values, size, None, None, weights
    if axes != 2:
        raise refuse(f"its input has {axes} axes")
    rows = item(op, op.Shape(values), 0)
    width = item(op, op.Shape(values), 1)
    flat = op.Reshape(values, op.const([-1])).output(0)
    own = op.FloorDiv(count_to(op, op.Size(flat)), op.Maximum(width, 1)).output(0)
    return flat, size, own, rows, weights


def _ragged(op: RuleBuilder, n: Node) -> Parts:
    splits, values, size, weights = n.inputs
    ends = op.cast(splits, INT32)
    count = op.Size(values)
    # the row number increases by one at each row end
    starts = part(op, ends, 1, -1)
    steps = op.UnsortedSegmentSum(op.OnesLike(starts), starts, op.Add(count, 1))
    own = part(op, op.Cumsum(steps, 0), stop=-1)
    return values, size, own, op.value(op.Sub(op.Size(splits), 1)), weights


def _sparse(op: RuleBuilder, n: Node) -> Parts:
    indices, values, shape, size, weights = n.inputs
    dims = op.shape(shape) or op.shape(indices)
    if not dims or dims[-1] is None:
        raise refuse("the rank of its tensor is unknown")
    if dims[-1] == 1:
        return values, size, None, None, weights
    if dims[-1] != 2:
        raise refuse(f"its tensor has {dims[-1]} axes")
    return values, size, op.cast(column(op, indices, 0), INT32), op.cast(item(op, shape, 0), INT32), weights


PARTS: dict[str, Callable[[RuleBuilder, Node], Parts]] = {
    "DenseBincount": _dense,
    "RaggedBincount": _ragged,
    "SparseBincount": _sparse,
}


# Buckets and histograms.

MOST_BOUNDARIES = 4096
FLOAT64 = DType.parse("float64")


@rule("Bucketize", keeps=EXACT)
def boundaries_not_above(op: RuleBuilder, n: Node) -> Replacement:
    """The bucket of a number is the number of boundaries that are not above it."""
    boundaries = n.attrs["boundaries"]
    assert isinstance(boundaries, list)
    if not 0 < len(boundaries) <= MOST_BOUNDARIES:
        return refuse(f"it has {len(boundaries)} boundaries; expected 1 to {MOST_BOUNDARIES}")
    dtype = FLOAT64 if n.attrs["T"] == FLOAT64 else FLOAT32
    edges = op.const(np.array(boundaries, np.float32).astype(dtype.numpy), dtype)
    x = n.inputs[0] if n.attrs["T"] == dtype else op.Cast(n.inputs[0], DstT=dtype)
    above = op.Cast(op.Less(op.ExpandDims(x, -1), edges), DstT="int32")
    return op.Sub(len(boundaries), op.Sum(above, [-1]))


@rule("BoostedTreesBucketize", keeps=EXACT)
def boundaries_below(op: RuleBuilder, n: Node) -> Replacement:
    """The bucket of a number is the number of boundaries below it, at most the last bucket."""
    half = len(n.inputs) // 2
    return [_below(op, values, edges) for values, edges in zip(n.inputs[:half], n.inputs[half:], strict=True)]


def _below(op: RuleBuilder, values: object, edges: object) -> Node:
    below = op.Cast(op.Less(op.ExpandDims(edges, 0), op.ExpandDims(values, 1)), DstT="int32")
    last = op.Maximum(op.Sub(op.Size(edges, out_type="int32"), 1), 0)
    return op.Minimum(op.Sum(below, [1]), last)


@rule("HistogramFixedWidth", keeps=EXACT)
def counted_by_width(op: RuleBuilder, n: Node) -> Replacement:
    """The kernel's own arithmetic: the place of each number in float64, and how often a place occurs."""
    values, limits, bins = n.inputs
    low, high = item(op, limits, 0), item(op, limits, 1)
    width = op.RealDiv(op.cast(op.Sub(high, low), FLOAT64), op.Cast(bins, DstT=FLOAT64))
    above = op.Sub(op.Maximum(op.Reshape(values, [-1]), low), low)
    last = op.Cast(op.Sub(bins, 1), DstT=FLOAT64)
    bucket = op.Cast(op.Minimum(op.RealDiv(op.cast(above, FLOAT64), width), last), DstT=INT32)
    return op.UnsortedSegmentSum(op.OnesLike(op.cast(bucket, n.outputs[0].dtype.base)), bucket, bins)
