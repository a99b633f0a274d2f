"""Arithmetic on rows of different lengths, with ops that every release has.

Splits are the offsets where rows begin and end, lengths the lengths of rows. Indices are a matrix
with one line per value: its row, and its index in the row. Everything is int64.
"""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.graph.dtypes import INT64
from tfport.graph.graph import Node, Value

NodeOrValue = Node | Value


def wide(op: RuleBuilder, value: NodeOrValue) -> NodeOrValue:
    """Splits or lengths as int64."""
    dtype = value.output(0).dtype if isinstance(value, Node) else value.dtype
    return value if dtype.base == INT64 else op.Cast(value, DstT="int64")


def lengths_of(op: RuleBuilder, splits: NodeOrValue) -> Node:
    """The lengths of rows, from their splits."""
    ends = op.StridedSlice(splits, [1], [0], [1], end_mask=1)
    return op.Sub(ends, op.StridedSlice(splits, [0], [-1], [1], begin_mask=1))


def starts_of(op: RuleBuilder, lengths: NodeOrValue) -> Node:
    """The offset of each row, from the lengths."""
    return op.Cumsum(lengths, 0, exclusive=True)


def splits_of(op: RuleBuilder, lengths: NodeOrValue) -> Node:
    """The row splits, from the lengths."""
    return op.ConcatV2([op.const([0], INT64), op.Cumsum(lengths, 0)], 0)


def longest(op: RuleBuilder, lengths: NodeOrValue) -> Node:
    """The length of the longest row, 0 without rows."""
    return op.Maximum(op.Max(lengths, [0]), op.const(0, INT64))


def indices_of(op: RuleBuilder, lengths: NodeOrValue) -> Node:
    """The row of each value, and its index in the row."""
    zero, step = op.const(0, INT64), op.const(1, INT64)
    columns = op.Range(zero, longest(op, lengths), step)
    return op.Where(op.Less(op.ExpandDims(columns, 0), op.ExpandDims(lengths, 1)))


def column(op: RuleBuilder, matrix: NodeOrValue, index: int) -> Node:
    """One column of a matrix, as a vector."""
    return op.StridedSlice(
        matrix, [0, index], [0, index + 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2
    )


def count_of(op: RuleBuilder, value: NodeOrValue) -> Node:
    """The size of the first axis."""
    shape = op.Shape(value, out_type="int32")
    return op.Cast(op.StridedSlice(shape, [0], [1], [1], shrink_axis_mask=1), DstT="int64")
