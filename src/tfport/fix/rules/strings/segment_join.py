"""Strings joined by segment."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, starts_of, wide
from tfport.fix.nodes.shapes import cast, joined, part, sizes
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.graph.dtypes import INT32, INT64, STRING
from tfport.graph.graph import Node
from tfport.runtime.ops.strings.byte_strings import attr_bytes


@rule("UnsortedSegmentJoin", keeps=EXACT)
def joined_in_rows(op: NodeBuilder, n: Node) -> Replacement:
    """The strings of each segment become a row, padded with empty strings, and ReduceJoin joins the rows."""
    inputs, segment_ids, segment_count = n.inputs
    if (dims := op.shape(segment_ids)) is None or not dims:
        return refuse("the rank of its segment_ids is unknown")
    ids = op.Reshape(wide(op, segment_ids), [-1])
    count, inner = count_of(op, ids), part(op, sizes(op, inputs), start=len(dims))
    strings = op.Reshape(inputs, joined(op, op.Shape(ids, out_type="int32"), inner))
    # sorted by segment, in each segment by position
    keys = op.Add(op.Mul(ids, count), op.Range(op.const(0, INT64), count, op.const(1, INT64)))
    order = op.TopKV2(op.Neg(keys), op.Cast(count, DstT="int32"), sorted=True).output(1)
    lengths = op.UnsortedSegmentSum(op.OnesLike(ids), ids, cast(op, segment_count, INT32))
    places = indices_of(op, lengths)
    words = _with_separators(op, n, op.Gather(strings, order), lengths, column(op, places, 0))
    shape = op.Pack([count_of(op, lengths), op.Maximum(op.Max(lengths, [0]), op.const(1, INT64))])
    numbers = op.Range(op.const(0, INT64), count, op.const(1, INT64))
    where = op.SparseToDense(places, shape, numbers, count)
    blank = op.Fill(joined(op, [1], inner), op.const(b"", STRING))
    return op.ReduceJoin(op.Gather(op.ConcatV2([words, blank], 0), where), [1])


def _with_separators(op: NodeBuilder, n: Node, words: Node, lengths: Node, rows: Node) -> Node:
    """The words, each after a separator if a word of its segment before it is not empty."""
    separator = attr_bytes(n.attrs["separator"])
    if not separator:
        return words
    has_text = op.Cast(op.NotEqual(words, op.const(b"", STRING)), DstT="int32")
    before = op.Cumsum(has_text, 0, exclusive=True)
    at_start = op.Gather(before, op.Gather(starts_of(op, lengths), rows))
    shape = op.Shape(words, out_type="int32")
    texts = [op.Fill(shape, op.const(text, STRING)) for text in (separator, b"")]
    return op.StringJoin([op.Select(op.Greater(before, at_start), *texts), words])
