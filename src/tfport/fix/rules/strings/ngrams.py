"""N-grams of words."""

from __future__ import annotations

from tfport.check.kernel_differences import writes_splits
from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, lengths_of, splits_of, starts_of, wide
from tfport.fix.rule import EXACT, OtherProblem, Replacement, refuse, rule
from tfport.graph.dtypes import INT64, STRING
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.strings.byte_strings import attr_bytes
from tfport.startup.dataclass import dataclass

MOST_WORDS = 64
"""The limit for the sum of all n-gram widths: each word of an n-gram needs a node."""


@dataclass(frozen=True, slots=True)
class PaddedSentences:
    """Rows of words; the left and the right pad are appended to all words."""

    op: RuleBuilder
    words: Node
    count: Node
    starts: Node
    lengths: Node
    separator: str

    def grams(self, indices: Node, width: int, pad: int) -> Node:
        """The n-grams at these indices of words and pads in rows."""
        op, rows, first = self.op, column(self.op, indices, 0), column(self.op, indices, 1)
        start, length = op.Gather(self.starts, rows), op.Gather(self.lengths, rows)
        left, right = (op.Add(op.ZerosLike(first), op.Add(self.count, op.const(i, INT64))) for i in (0, 1))
        widths = []
        for step in range(-pad, width - pad):
            at = op.Add(first, op.const(step, INT64))
            inside = op.Select(op.Less(at, length), op.Add(start, at), right)
            widths.append(op.Gather(self.words, op.Select(op.Less(at, op.const(0, INT64)), left, inside)))
        return op.StringJoin(widths, separator=self.separator)


@rule("StringNGrams", keeps=EXACT)
def with_splits_of_no_words(op: RuleBuilder, n: Node) -> Replacement:
    """The splits are zeros where there are no words, for which old kernels do not write them."""
    if not op.has(n.op):
        return OtherProblem("the target has no such op")
    if writes_splits(n):
        return refuse("the splits of a batch without words are replaced already")
    grams = op.StringNGrams(*n.inputs, **n.attrs)
    splits = grams.output(1)
    return [grams, op.Select(op.Greater(op.Size(n.inputs[0]), 0), splits, op.ZerosLike(splits))]


@rule("StringNGrams", keeps=EXACT)
def words_side_by_side(op: RuleBuilder, n: Node) -> Replacement:
    """The words from each index on are joined, with pads outside of the row."""
    widths = n.attrs["ngram_widths"]
    assert isinstance(widths, list)
    if n.attrs["preserve_short_sequences"]:
        return refuse("preserve_short_sequences is not supported")
    if not widths or sum(widths) > MOST_WORDS:
        return refuse(f"the sum of its ngram_widths is {sum(widths)}; expected 1 to {MOST_WORDS}")
    data, splits = n.inputs
    cuts = wide(op, splits)
    ends = op.const([attr_bytes(n.attrs["left_pad"]), attr_bytes(n.attrs["right_pad"])], STRING)
    starts = op.StridedSlice(cuts, [0], [-1], [1], begin_mask=1)
    sentences = PaddedSentences(
        op,
        op.ConcatV2([data, ends], 0),
        count_of(op, data),
        starts,
        lengths_of(op, cuts),
        n.attrs["separator"],
    )
    pads = [_pad(n.attrs["pad_width"], width) for width in widths]
    counts = [
        op.Maximum(op.Add(sentences.lengths, op.const(2 * pad - width + 1, INT64)), op.const(0, INT64))
        for width, pad in zip(widths, pads, strict=True)
    ]
    grams, order = [], []
    total = op.AddN(counts) if len(counts) > 1 else counts[0]
    offset = starts_of(op, total)
    for width, pad, count in zip(widths, pads, counts, strict=True):
        indices = indices_of(op, count)
        grams.append(sentences.grams(indices, width, pad))
        order.append(op.Add(op.Gather(offset, column(op, indices, 0)), column(op, indices, 1)))
        offset = op.Add(offset, count)
    merged = _merged(op, order, grams)
    new_splits = splits_of(op, total)
    return [merged, new_splits if splits.dtype == INT64 else op.Cast(new_splits, DstT=splits.dtype.base)]


def _pad(asked: object, width: int) -> int:
    assert isinstance(asked, int)
    return width - 1 if asked < 0 else min(asked, width - 1)


def _merged(op: RuleBuilder, order: list[Node], grams: list[Node]) -> Node | Value:
    """The n-grams of all widths, row after row."""
    if len(grams) == 1:
        return grams[0]
    return op.DynamicStitch([op.Cast(indices, DstT="int32") for indices in order], grams)
