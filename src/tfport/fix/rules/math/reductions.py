"""Norms, bounds and reductions by segment, written with older reductions."""

from __future__ import annotations

import math

import numpy as np

from tfport.check.kernel_differences import restores_infinity
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.rule import EXACT, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.building.sizes import count_to, joined, product, shape_of
from tfport.graph.dtypes import INT32, INT64
from tfport.graph.graph import Node, Value

MOST_REMAINDERS = 46340
"""The sum of as many remainders is an int32."""


@rule("EuclideanNorm", keeps=ROUNDING)
def root_of_squares(op: RuleBuilder, n: Node) -> Replacement:
    """The square root of the sum of squares."""
    x, axes = n.inputs
    if x.dtype.is_integer:
        return refuse(f"the root of a sum of {x.dtype} is rounded differently")
    square = op.Mul(x, op.Conj(x)) if x.dtype.is_complex else op.Square(x)
    return op.Sqrt(op.Sum(square, axes, keep_dims=n.attrs["keep_dims"]))


@rule("Mean", keeps=EXACT)
def quotients_and_remainders(op: RuleBuilder, n: Node) -> Replacement:
    """The mean of integers, rounded towards zero, of their quotients by their number and of what remains."""
    (x, axes), dtype = n.inputs, n.outputs[0].dtype.base
    if dtype not in (INT32, INT64):
        return refuse(f"the mean of {dtype} is rounded differently, or sums of it do not fit")
    dims, chosen, keep = op.shape(x), op.array(axes), n.attrs["keep_dims"]
    sizes = None if dims is None or chosen is None else [dims[axis] for axis in chosen.ravel()]
    count = 0 if sizes is None or None in sizes else math.prod(size for size in sizes if size is not None)
    if not 0 < count <= MOST_REMAINDERS:
        return refuse(f"it is not known to be of 1 to {MOST_REMAINDERS} numbers")
    if dtype == INT64:  # TensorFlow wraps the sum, as it does not with int32
        return op.TruncateDiv(op.Sum(x, axes, keep_dims=keep), count)
    quotients = op.FloorDiv(x, count)
    rests = op.Sum(op.Sub(x, op.Mul(quotients, count)), axes, keep_dims=keep)
    more = op.FloorDiv(rests, count)
    down = op.AddV2(op.Sum(quotients, axes, keep_dims=keep), more)
    is_rounded = op.LogicalAnd(op.Less(down, 0), op.NotEqual(op.Mul(more, count), rests))
    return op.AddV2(down, op.cast(is_rounded, dtype))


@rule("LowerBound UpperBound", keeps=EXACT)
def count_of_smaller(op: RuleBuilder, n: Node) -> Replacement:
    """A bound is the number of elements of the sorted row before it."""
    rows, values = n.inputs
    element, value = op.ExpandDims(rows, 1), op.ExpandDims(values, 2)
    before = op.LogicalNot(op.Less(value, element)) if n.op == "UpperBound" else op.Less(element, value)
    return op.Sum(op.cast(before, n.outputs[0].dtype.base), op.const([2]), keep_dims=False)


@rule("CumulativeLogsumexp", keeps=EXACT)
def with_minus_infinity(op: RuleBuilder, n: Node) -> Replacement:
    """The lowest finite number, which old kernels give for minus infinity, becomes minus infinity again."""
    if not op.has(n.op):
        return OtherProblem("the target has no such op")
    if restores_infinity(n):
        return refuse("minus infinity is put back already")
    dtype = n.outputs[0].dtype.base.numpy
    sums = op.CumulativeLogsumexp(*n.inputs, **n.attrs)
    is_lowest = op.LessEqual(sums, op.const(np.finfo(dtype).min))
    infinity = op.Fill(op.Shape(sums, out_type="int32"), op.const(dtype.type(-np.inf)))
    return op.Select(is_lowest, infinity, sums)


# Reductions of rows by segment.


@rule("UnsortedSegmentMin", keeps=EXACT)
def largest_of_opposites(op: RuleBuilder, n: Node) -> Replacement:
    """The minimum is the negated maximum of the negated numbers: -x, or ~x for integers."""
    data, segments, count = n.inputs
    turn = op.Invert if data.dtype.is_integer else op.Neg
    largest = op.UnsortedSegmentMax(turn(data), _counted_from_one(op, segments), _one_more(op, count))
    return turn(_without_the_first(op, largest))


@rule("UnsortedSegmentProd", keeps=ROUNDING)
def product_of_sorted(op: RuleBuilder, n: Node) -> Replacement:
    """SegmentProd multiplies rows sorted by segment, with a row of ones for each segment."""
    return _sorted(op, n, "SegmentProd", 1)


@rule("UnsortedSegmentMax", keeps=EXACT)
def largest_of_sorted(op: RuleBuilder, n: Node) -> Replacement:
    """SegmentMax reduces rows sorted by segment, with a row of lowest numbers for each segment."""
    dtype = n.inputs[0].dtype.base
    if dtype.name == "bfloat16":
        return refuse("bfloat16 is not supported")
    limits = np.iinfo(dtype.numpy) if dtype.is_integer else np.finfo(dtype.numpy)
    return _sorted(op, n, "SegmentMax", limits.min)


def _sorted(op: RuleBuilder, n: Node, reduction: str, start: object) -> Node:
    data, segments, count = n.inputs
    flat = op.Reshape(_counted_from_one(op, segments), op.const([-1]))
    width = op.StridedSlice(shape_of(op, data), op.ExpandDims(op.Rank(segments), 0), [0], [1], end_mask=1)
    rows = op.Reshape(data, joined(op, op.Shape(flat), product(op, width)))
    whole = _one_more(op, count)
    first = joined(op, op.ExpandDims(whole, 0), product(op, width))
    starts = op.Fill(first, op.const(np.asarray(start), data.dtype.base))
    keys = op.ConcatV2([count_to(op, whole), flat], 0)
    order = op.TopKV2(op.Neg(keys), op.Size(keys), sorted=True).output(1)
    reduced = op.node(reduction, op.Gather(op.ConcatV2([starts, rows], 0), order), op.Gather(keys, order))
    answers = _without_the_first(op, reduced)
    return op.Reshape(answers, joined(op, op.ExpandDims(op.cast(count, INT32), 0), width))


def _counted_from_one(op: RuleBuilder, segments: Value) -> Node:
    """Segments from 1; rows without a segment get 0, which is cut off later: older ops fail for -1."""
    return op.Maximum(op.Add(op.cast(segments, INT32), 1), 0)


def _one_more(op: RuleBuilder, count: Value) -> Node:
    return op.Add(op.cast(count, INT32), 1)


def _without_the_first(op: RuleBuilder, rows: Node) -> Node:
    return op.StridedSlice(rows, [1], [0], [1], end_mask=1)


@rule("SegmentSumV2 SegmentMaxV2 SegmentMinV2 SegmentProdV2", keeps=ROUNDING)
def unsorted(op: RuleBuilder, n: Node) -> Replacement:
    """The op for unsorted segments also accepts sorted ones; sums are rounded differently."""
    return op.node(f"Unsorted{n.op.removesuffix('V2')}", *n.inputs)


MEANS = ("SparseSegmentMeanWithNumSegments", "SparseSegmentSqrtNWithNumSegments")


@rule(f"SparseSegmentSumWithNumSegments {' '.join(MEANS)}", keeps=ROUNDING)
def gathered_then_added(op: RuleBuilder, n: Node) -> Replacement:
    """Rows are gathered and summed by segment, then divided by their number, or its square root."""
    data, indices, segments, count = n.inputs
    total = op.UnsortedSegmentSum(op.Gather(data, indices), segments, op.cast(count, INT32))
    if n.op not in MEANS:
        return total
    counts = op.Fill(op.Shape(segments), op.const(1, data.dtype.base))
    members = op.Maximum(op.UnsortedSegmentSum(counts, segments, op.cast(count, INT32)), 1)
    by = members if "Mean" in n.op else op.Sqrt(members)
    column = joined(op, op.Shape(by), op.Fill(op.ExpandDims(op.Sub(op.Rank(data), 1), 0), 1))
    return op.RealDiv(total, op.Reshape(by, column))


@rule("SparseSegmentMean SparseSegmentSqrtN", keeps=ROUNDING)
def sum_then_divided(op: RuleBuilder, n: Node) -> Replacement:
    """The sum of the rows of each segment, divided by their number or its square root."""
    data, indices, segments = n.inputs
    dtype = data.dtype.base
    total = op.SparseSegmentSum(data, indices, segments)
    members = op.Maximum(op.SegmentSum(op.Fill(op.Shape(segments), op.const(1, dtype)), segments), 1)
    by = members if n.op == "SparseSegmentMean" else op.Sqrt(members)
    column = joined(op, op.Shape(by), op.Fill(op.ExpandDims(op.Sub(op.Rank(data), 1), 0), 1))
    return op.RealDiv(total, op.Reshape(by, column))
