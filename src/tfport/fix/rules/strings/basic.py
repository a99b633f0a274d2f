"""Case, stripping, lengths, substrings, numbers as strings, joining and splitting.

Strings are split into bytes and joined again, with ops that every release has. StringSplit without a
delimiter returns one string for each byte, and its index. Bytes are mapped by a table of 256 entries;
operations within strings are arithmetic on a matrix with a row per string.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, starts_of, wide
from tfport.fix.rule import EXACT, LOSSY, OtherProblem, Replacement, refuse, rule
from tfport.graph.building.sizes import joined, part, shape_of
from tfport.graph.dtypes import INT32, INT64, STRING, DType
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.strings.byte_strings import attr_bytes

BLANKS = b" \t\n\v\f\r"
WIDER = {
    "uint8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64",
    "float16": "float32", "bfloat16": "float32",
}  # fmt: skip
"""Dtypes that the first AsString supports, by those that it does not."""


@rule("StringLower", keeps=EXACT)
def lower_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """Without an encoding, the bytes A to Z become a to z."""
    if n.attrs["encoding"]:
        return refuse(f"encoding={n.attrs['encoding']} also changes letters other than A to Z")
    strings = StringBytes(op, n.inputs[0])
    return strings.joined(strings.mapped([byte.lower() for byte in single_bytes()]))


@rule("StringUpper", keeps=EXACT)
def upper_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """Without an encoding, the bytes a to z become A to Z."""
    if n.attrs["encoding"]:
        return refuse(f"encoding={n.attrs['encoding']} also changes letters other than a to z")
    strings = StringBytes(op, n.inputs[0])
    return strings.joined(strings.mapped([byte.upper() for byte in single_bytes()]))


@rule("StringLower StringUpper", keeps=LOSSY)
def only_ascii_letters(op: RuleBuilder, n: Node) -> Replacement:
    """The encoding is dropped, so only the 26 ASCII letters change case."""
    if not n.attrs["encoding"]:
        return OtherProblem("it has no encoding")
    return op.node(n.op, n.inputs[0], encoding="")


@rule("StringStrip", keeps=EXACT)
def stripped_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """A byte is kept if there are non-blank bytes both up to it and from it on."""
    strings = StringBytes(op, n.inputs[0])
    solid = strings.matrix(strings.numbered([int(code not in BLANKS) for code in range(256)]), 0)
    before, behind = op.Cumsum(solid, 1), op.Cumsum(solid, 1, reverse=True)
    return strings.kept(op.LogicalAnd(op.Greater(before, 0), op.Greater(behind, 0)))


@rule("StringLength", keeps=EXACT)
def counted_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """The number of bytes, or for UTF8_CHAR of bytes that start a character."""
    strings = StringBytes(op, n.inputs[0])
    counts = [1 if n.attrs["unit"] == "BYTE" else leads(code) for code in range(256)]
    return strings.shaped(op.Sum(strings.matrix(strings.numbered(counts), 0), [1]))


@rule("Substr", keeps=EXACT)
def parts_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """Characters are counted by their first bytes; the bytes of characters in the range are kept."""
    if n.attrs["unit"] != "UTF8_CHAR":
        return OtherProblem("its unit is BYTE already")
    text, pos, size = n.inputs
    dims = op.shape(pos)
    if dims is None or None in dims or (dims and dims != op.shape(text)):
        return refuse("the shape of pos is neither () nor known to equal that of the strings")
    strings = StringBytes(op, text)
    begins = strings.matrix(strings.numbered([leads(code) for code in range(256)]), 0)
    first = op.StridedSlice(begins, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1)
    # the first byte starts a character, even if it is a continuation byte
    number = op.Sub(op.Cumsum(begins, 1), first)
    total = op.Add(op.Sum(begins, [1], keep_dims=True), op.Sub(1, first))
    pos, size = (op.Reshape(op.Cast(value, DstT="int32"), [-1, 1]).output(0) for value in (pos, size))
    from_end = op.Cast(op.Less(pos, 0), DstT="int32")
    start = op.Add(pos, op.Mul(total, from_end))
    inside = op.LogicalAnd(op.GreaterEqual(number, start), op.Less(number, op.Add(start, size)))
    return strings.kept(inside)


@rule("AsString", keeps=EXACT)
def wider_number_as_string(op: RuleBuilder, n: Node) -> Replacement:
    """A number has the same text in a wider dtype, which represents it exactly."""
    dtype = n.attrs["T"]
    if isinstance(dtype, DType) and dtype == STRING and n.attrs["width"] == -1:
        return op.Identity(n.inputs[0])
    if not isinstance(dtype, DType) or dtype.name not in WIDER:
        return refuse(f"no other dtype represents all values of {dtype}")
    options = {name: n.attrs[name] for name in ("precision", "scientific", "shortest", "width", "fill")}
    return op.AsString(op.Cast(n.inputs[0], DstT=WIDER[dtype.name]), **options)


@rule("StringJoin", keeps=EXACT)
def nothing_joined(op: RuleBuilder, n: Node) -> Replacement:
    """Joining no strings gives the empty string."""
    return refuse("it has inputs") if n.inputs else op.const(b"")


@rule("StringSplitV2", keeps=EXACT)
def split_at_each_byte(op: RuleBuilder, n: Node) -> Replacement:
    """StringSplit splits at each byte of its delimiter: at whitespace, or at a separator of one byte."""
    separator = op.array(n.inputs[1])
    if separator is None or separator.ndim:
        return refuse("its separator is not constant")
    if n.attrs["maxsplit"] != -1:
        return refuse(f"StringSplit does not support maxsplit={n.attrs['maxsplit']}")
    cut = attr_bytes(separator.item())
    if not cut:
        return op.StringSplit(n.inputs[0], BLANKS, skip_empty=True)
    if len(cut) > 1:
        return refuse(f"its separator has {len(cut)} bytes, and StringSplit would split at each of them")
    # StringSplit drops empty strings: with a separator appended, every string has one word too many
    split = op.StringSplit(op.StringJoin([n.inputs[0], cut]), cut, skip_empty=False)
    rows = column(op, split, 0)
    behind = op.StridedSlice(rows, [1], [0], [1], end_mask=1)
    next_row = op.ConcatV2([behind, op.const([-1], INT64)], 0)
    kept = op.Reshape(op.Where(op.Equal(rows, next_row)), [-1])
    shape = op.Maximum(op.Sub(split.output(2), [0, 1]), [0, 0])
    return [op.Gather(split.output(0), kept), op.Gather(split.output(1), kept), shape]


# Strings as bytes.


class StringBytes:
    """The bytes of all strings of a value, in order."""

    def __init__(self, op: RuleBuilder, value: Value) -> None:
        self.op, self.value = op, value
        split = op.StringSplit(op.Reshape(value, [-1]), b"", skip_empty=False)
        self.indices, self.bytes = split.output(0), split.output(1)
        # an extra column, so that there is one even if all strings are empty
        self.shape = op.Add(split.output(2), [0, 1])

    @cached_property
    def codes(self) -> Node:
        """The bytes as integers."""
        numbers = self.op.DecodeRaw(self.bytes, out_type="uint8")
        return self.op.Cast(self.op.Reshape(numbers, [-1]), DstT="int32")

    def mapped(self, to: Sequence[bytes]) -> Node:
        """Map each byte by a table of 256 strings."""
        return self.op.Gather(self.op.const(list(to), STRING), self.codes)

    def numbered(self, to: Sequence[int]) -> Node:
        """Map each byte by a table of 256 numbers."""
        return self.op.Gather(self.op.const(list(to), INT32), self.codes)

    def matrix(self, of: Node | Value, default: object) -> Node:
        """Values of the bytes as a matrix with a row for each string."""
        return self.op.SparseToDense(self.indices, self.shape, of, default)

    def joined(self, bytes_: Node | Value) -> Node:
        """The strings, with a replacement for each byte."""
        return self.shaped(self.op.ReduceJoin(self.matrix(bytes_, b""), [1]))

    def kept(self, keep: Node) -> Node:
        """The strings without the bytes for which a mask is false."""
        matrix = self.matrix(self.bytes, b"")
        nothing = self.op.Fill(self.op.Shape(matrix, out_type="int32"), b"")
        return self.shaped(self.op.ReduceJoin(self.op.Select(keep, matrix, nothing), [1]))

    def shaped(self, flat: Node) -> Node:
        """One value for each string, in the shape of the strings."""
        return self.op.Reshape(flat, self.op.Shape(self.value, out_type="int32"))


def single_bytes() -> list[bytes]:
    """Every byte as a string."""
    return [bytes([code]) for code in range(256)]


def leads(code: int) -> int:
    """1 for a byte that starts a UTF-8 character, 0 for a continuation byte."""
    return int(code & 0xC0 != 0x80)


@rule("UnsortedSegmentJoin", keeps=EXACT)
def joined_in_rows(op: RuleBuilder, n: Node) -> Replacement:
    """The strings of each segment become a row, padded with empty strings, and ReduceJoin joins the rows."""
    inputs, segment_ids, segment_count = n.inputs
    if (dims := op.shape(segment_ids)) is None or not dims:
        return refuse("the rank of its segment_ids is unknown")
    ids = op.Reshape(wide(op, segment_ids), [-1])
    count, inner = count_of(op, ids), part(op, shape_of(op, inputs), start=len(dims))
    strings = op.Reshape(inputs, joined(op, op.Shape(ids, out_type="int32"), inner))
    # sorted by segment, in each segment by position
    keys = op.Add(op.Mul(ids, count), op.Range(op.const(0, INT64), count, op.const(1, INT64)))
    order = op.TopKV2(op.Neg(keys), op.Cast(count, DstT="int32"), sorted=True).output(1)
    lengths = op.UnsortedSegmentSum(op.OnesLike(ids), ids, op.cast(segment_count, INT32))
    indices = indices_of(op, lengths)
    words = _with_separators(op, n, op.Gather(strings, order), lengths, column(op, indices, 0))
    shape = op.Pack([count_of(op, lengths), op.Maximum(op.Max(lengths, [0]), op.const(1, INT64))])
    numbers = op.Range(op.const(0, INT64), count, op.const(1, INT64))
    where = op.SparseToDense(indices, shape, numbers, count)
    blank = op.Fill(joined(op, [1], inner), op.const(b"", STRING))
    return op.ReduceJoin(op.Gather(op.ConcatV2([words, blank], 0), where), [1])


def _with_separators(op: RuleBuilder, n: Node, words: Node, lengths: Node, rows: Node) -> Node:
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
