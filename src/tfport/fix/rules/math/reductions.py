"""Norms and bounds by older reductions."""

from __future__ import annotations

import numpy as np

from tfport.check.kernel_differences import restores_infinity
from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.shapes import cast
from tfport.fix.rule import EXACT, ROUNDING, OtherProblem, Replacement, refuse, rule
from tfport.graph.graph import Node


@rule("EuclideanNorm", keeps=ROUNDING)
def root_of_squares(op: NodeBuilder, n: Node) -> Replacement:
    """The square root of the sum of squares."""
    x, axes = n.inputs
    if x.dtype.is_integer:
        return refuse(f"the root of a sum of {x.dtype} is rounded differently")
    square = op.Mul(x, op.Conj(x)) if x.dtype.is_complex else op.Square(x)
    return op.Sqrt(op.Sum(square, axes, keep_dims=n.attrs["keep_dims"]))


@rule("LowerBound UpperBound", keeps=EXACT)
def count_of_smaller(op: NodeBuilder, n: Node) -> Replacement:
    """A bound is the number of elements of the sorted row before it."""
    rows, values = n.inputs
    element, value = op.ExpandDims(rows, 1), op.ExpandDims(values, 2)
    before = op.LogicalNot(op.Less(value, element)) if n.op == "UpperBound" else op.Less(element, value)
    return op.Sum(cast(op, before, n.outputs[0].dtype.base), op.const([2]), keep_dims=False)


@rule("CumulativeLogsumexp", keeps=EXACT)
def with_minus_infinity(op: NodeBuilder, n: Node) -> Replacement:
    """The lowest finite number, which old kernels give for minus infinity, becomes minus infinity again."""
    if not op.has(n.op):
        return OtherProblem("the target has no such op")
    if restores_infinity(n):
        return refuse("minus infinity is put back already")
    kind = n.outputs[0].dtype.base.numpy
    made = op.CumulativeLogsumexp(*n.inputs, **n.attrs)
    is_lowest = op.LessEqual(made, op.const(np.finfo(kind).min))
    infinity = op.Fill(op.Shape(made, out_type="int32"), op.const(kind.type(-np.inf)))
    return op.Select(is_lowest, infinity, made)
