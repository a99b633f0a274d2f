"""Values cut into rows of different lengths, with what the first releases have, for rules to use.

Splits say where rows begin and end, lengths how long they are; places are a matrix with a line for
each value, in order: its row, and its place in that. All of it is int64.
"""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.graph.dtypes import INT64
from tfport.graph.graph import Node, Value

Made = Node | Value


def wide(op: NodeBuilder, value: Made) -> Made:
    """Splits or lengths as int64."""
    kind = value.output(0).dtype if isinstance(value, Node) else value.dtype
    return value if kind.base == INT64 else op.Cast(value, DstT="int64")


def lengths_of(op: NodeBuilder, splits: Made) -> Node:
    """How long the rows are that splits cut."""
    ends = op.StridedSlice(splits, [1], [0], [1], end_mask=1)
    return op.Sub(ends, op.StridedSlice(splits, [0], [-1], [1], begin_mask=1))


def starts_of(op: NodeBuilder, lengths: Made) -> Node:
    """Where rows of these lengths begin, one behind the other."""
    return op.Cumsum(lengths, 0, exclusive=True)


def splits_of(op: NodeBuilder, lengths: Made) -> Node:
    """The splits that cut rows of these lengths."""
    return op.ConcatV2([op.const([0], INT64), op.Cumsum(lengths, 0)], 0)


def longest(op: NodeBuilder, lengths: Made) -> Node:
    """The length of the longest row, 0 where there is none."""
    return op.Maximum(op.Max(lengths, [0]), op.const(0, INT64))


def places_of(op: NodeBuilder, lengths: Made) -> Node:
    """The row of each value, and its place in that."""
    zero, one = op.const(0, INT64), op.const(1, INT64)
    columns = op.Range(zero, longest(op, lengths), one)
    return op.Where(op.Less(op.ExpandDims(columns, 0), op.ExpandDims(lengths, 1)))


def column(op: NodeBuilder, matrix: Made, place: int) -> Node:
    """One column of a matrix, as a vector."""
    return op.StridedSlice(
        matrix, [0, place], [0, place + 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2
    )


def count_of(op: NodeBuilder, value: Made) -> Node:
    """How many there are along the first axis."""
    shape = op.Shape(value, out_type="int32")
    return op.Cast(op.StridedSlice(shape, [0], [1], [1], shrink_axis_mask=1), DstT="int64")
