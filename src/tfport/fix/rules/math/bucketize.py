"""Bucketizing by counting boundaries, and histograms of buckets of the same width."""

from __future__ import annotations

import numpy as np

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import cast, item
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.dtypes import FLOAT32, INT32, DType
from tfport.graph.graph import Node

MOST_BOUNDARIES = 4096
FLOAT64 = DType.parse("float64")


@rule("Bucketize", keeps=EXACT)
def boundaries_not_above(op: NodeBuilder, n: Node) -> Replacement:
    """The bucket of a number is the number of boundaries that are not above it."""
    boundaries = n.attrs["boundaries"]
    assert isinstance(boundaries, list)
    if not 0 < len(boundaries) <= MOST_BOUNDARIES:
        return refuse(f"it has {len(boundaries)} boundaries; expected 1 to {MOST_BOUNDARIES}")
    kind = FLOAT64 if n.attrs["T"] == FLOAT64 else FLOAT32
    edges = op.const(np.array(boundaries, np.float32).astype(kind.numpy), kind)
    x = n.inputs[0] if n.attrs["T"] == kind else op.Cast(n.inputs[0], DstT=kind)
    above = op.Cast(op.Less(op.ExpandDims(x, -1), edges), DstT="int32")
    return op.Sub(len(boundaries), op.Sum(above, [-1]))


@rule("BoostedTreesBucketize", keeps=EXACT)
def boundaries_below(op: NodeBuilder, n: Node) -> Replacement:
    """The bucket of a number is the number of boundaries below it, at most the last bucket."""
    half = len(n.inputs) // 2
    return [_below(op, values, edges) for values, edges in zip(n.inputs[:half], n.inputs[half:], strict=True)]


def _below(op: NodeBuilder, values: object, edges: object) -> Node:
    below = op.Cast(op.Less(op.ExpandDims(edges, 0), op.ExpandDims(values, 1)), DstT="int32")
    last = op.Maximum(op.Sub(op.Size(edges, out_type="int32"), 1), 0)
    return op.Minimum(op.Sum(below, [1]), last)


@rule("HistogramFixedWidth", keeps=EXACT)
def counted_by_width(op: NodeBuilder, n: Node) -> Replacement:
    """The kernel's own arithmetic: the place of each number in float64, and how often a place occurs."""
    values, limits, bins = n.inputs
    low, high = item(op, limits, 0), item(op, limits, 1)
    width = op.RealDiv(cast(op, op.Sub(high, low), FLOAT64), op.Cast(bins, DstT=FLOAT64))
    above = op.Sub(op.Maximum(op.Reshape(values, [-1]), low), low)
    last = op.Cast(op.Sub(bins, 1), DstT=FLOAT64)
    place = op.Cast(op.Minimum(op.RealDiv(cast(op, above, FLOAT64), width), last), DstT=INT32)
    return op.UnsortedSegmentSum(op.OnesLike(cast(op, place, n.outputs[0].dtype.base)), place, bins)
