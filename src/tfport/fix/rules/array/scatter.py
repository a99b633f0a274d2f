"""Scattering updates into slices of a tensor by index."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import cast, count_to, joined, part, product, scalar, sizes
from tfport.fix.rule import EXACT, ROUNDING, Replacement, refuse, rule
from tfport.graph.dtypes import INT32
from tfport.graph.graph import Node, Value

COMBINE = {"TensorScatterAdd": "Add", "TensorScatterSub": "Sub"}


@rule("TensorScatterUpdate", keeps=EXACT)
def stitched(op: NodeBuilder, n: Node) -> Replacement:
    """DynamicStitch writes all slices of the tensor, then the updates; the last one written stays."""
    _wants_good_indices(n)
    tensor, indices, updates = n.inputs
    rows = ScatteredRows(op, tensor, indices)
    places = [count_to(op, rows.count), rows.numbers]
    made = op.DynamicStitch(places, [rows.of_tensor, op.Reshape(updates, rows.widths)])
    return op.Reshape(made, rows.shape)


@rule("TensorScatterAdd TensorScatterSub", keeps=EXACT)
def with_all_updates_of_integers(op: NodeBuilder, n: Node) -> Replacement:
    """ScatterNd sums the updates of each slice; the order does not matter for integers."""
    if not n.inputs[0].dtype.is_integer:
        return refuse(f"the order of adding {n.inputs[0].dtype} updates matters")
    return _with_all_updates(op, n)


@rule("TensorScatterAdd TensorScatterSub", keeps=ROUNDING)
def with_all_updates(op: NodeBuilder, n: Node) -> Replacement:
    """ScatterNd sums the updates of each slice, before they are added to the tensor."""
    return _with_all_updates(op, n)


def _with_all_updates(op: NodeBuilder, n: Node) -> Node:
    _wants_good_indices(n)
    tensor, indices, updates = n.inputs
    shape = cast(op, sizes(op, tensor), indices.dtype.base)
    return op.node(COMBINE[n.op], tensor, op.ScatterNd(indices, updates, shape))


@rule("TensorScatterMax TensorScatterMin", keeps=EXACT)
def largest_of_a_segment(op: NodeBuilder, n: Node) -> Replacement:
    """A slice and its updates form a segment, whose maximum or minimum is the result."""
    _wants_good_indices(n)
    tensor, indices, updates = n.inputs
    rows = ScatteredRows(op, tensor, indices)
    data = op.ConcatV2([rows.of_tensor, op.Reshape(updates, rows.widths)], 0)
    segments = op.ConcatV2([count_to(op, rows.count), rows.numbers], 0)
    kind = "UnsortedSegmentMax" if n.op == "TensorScatterMax" else "UnsortedSegmentMin"
    best = op.node(kind, data, segments, rows.count)
    if tensor.dtype.is_floating:
        # the segment op starts from the lowest finite number, and would lose infinities
        end = float("-inf") if n.op == "TensorScatterMax" else float("inf")
        inside = op.Cast(op.NotEqual(data, end), DstT=INT32)
        any_inside = op.UnsortedSegmentMax(inside, segments, rows.count)
        best = op.Select(
            op.Greater(any_inside, 0), best, op.Fill(op.Shape(best), op.const(end, tensor.dtype.base))
        )
    return op.Reshape(best, rows.shape)


def _wants_good_indices(n: Node) -> None:
    if policy := n.attrs.get("bad_indices_policy"):
        raise refuse(f"it has bad_indices_policy={policy}")


class ScatteredRows:
    """A tensor as rows, one for each slice that an index selects, and the row of each update."""

    def __init__(self, op: NodeBuilder, tensor: Value, indices: Value) -> None:
        self.shape = sizes(op, tensor)
        depth = _depth(op, indices)
        outer = op.StridedSlice(self.shape, [0], depth, [1], begin_mask=1)
        count, width = (
            product(op, outer),
            product(op, op.StridedSlice(self.shape, depth, [0], [1], end_mask=1)),
        )
        strides = op.Cumprod(outer, 0, exclusive=True, reverse=True)
        own = op.Sum(op.Mul(cast(op, indices, INT32), strides), op.const([-1]), keep_dims=False)
        self.numbers = op.Reshape(own, op.const([-1])).output(0)
        self.count = scalar(op, count)
        self.of_tensor = op.Reshape(tensor, joined(op, count, width))
        self.widths = joined(op, op.Shape(self.numbers), width)


def _depth(op: NodeBuilder, indices: Value) -> Value:
    """The number of axes that an index selects, as a vector of length 1."""
    known = op.shape(indices)
    if known and (depth := known[-1]) is not None:
        return op.const([depth], INT32)
    return part(op, op.Shape(indices), -1)
