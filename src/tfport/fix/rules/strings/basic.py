"""Case, stripping, lengths, substrings, numbers as strings, joining and splitting."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.row_splits import column
from tfport.fix.rule import EXACT, LOSSY, OtherProblem, Replacement, refuse, rule
from tfport.fix.rules.strings.string_bytes import StringBytes, leads, single_bytes
from tfport.graph.dtypes import INT64, STRING, DType
from tfport.graph.graph import Node
from tfport.runtime.ops.strings.byte_strings import attr_bytes

BLANKS = b" \t\n\v\f\r"
WIDER = {
    "uint8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64",
    "float16": "float32", "bfloat16": "float32",
}  # fmt: skip
"""Dtypes that the first AsString supports, by those that it does not."""


@rule("StringLower", keeps=EXACT)
def lower_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """Without an encoding, the bytes A to Z become a to z."""
    if n.attrs["encoding"]:
        return refuse(f"encoding={n.attrs['encoding']} also changes letters other than A to Z")
    strings = StringBytes(op, n.inputs[0])
    return strings.joined(strings.mapped([byte.lower() for byte in single_bytes()]))


@rule("StringUpper", keeps=EXACT)
def upper_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """Without an encoding, the bytes a to z become A to Z."""
    if n.attrs["encoding"]:
        return refuse(f"encoding={n.attrs['encoding']} also changes letters other than a to z")
    strings = StringBytes(op, n.inputs[0])
    return strings.joined(strings.mapped([byte.upper() for byte in single_bytes()]))


@rule("StringLower StringUpper", keeps=LOSSY)
def only_ascii_letters(op: NodeBuilder, n: Node) -> Replacement:
    """The encoding is dropped, so only the 26 ASCII letters change case."""
    if not n.attrs["encoding"]:
        return OtherProblem("it has no encoding")
    return op.node(n.op, n.inputs[0], encoding="")


@rule("StringStrip", keeps=EXACT)
def stripped_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """A byte is kept if there are non-blank bytes both up to it and from it on."""
    strings = StringBytes(op, n.inputs[0])
    solid = strings.matrix(strings.numbered([int(code not in BLANKS) for code in range(256)]), 0)
    before, behind = op.Cumsum(solid, 1), op.Cumsum(solid, 1, reverse=True)
    return strings.kept(op.LogicalAnd(op.Greater(before, 0), op.Greater(behind, 0)))


@rule("StringLength", keeps=EXACT)
def counted_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """The number of bytes, or for UTF8_CHAR of bytes that start a character."""
    strings = StringBytes(op, n.inputs[0])
    counts = [1 if n.attrs["unit"] == "BYTE" else leads(code) for code in range(256)]
    return strings.shaped(op.Sum(strings.matrix(strings.numbered(counts), 0), [1]))


@rule("Substr", keeps=EXACT)
def parts_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
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
def wider_number_as_string(op: NodeBuilder, n: Node) -> Replacement:
    """A number has the same text in a wider dtype, which represents it exactly."""
    kind = n.attrs["T"]
    if isinstance(kind, DType) and kind == STRING and n.attrs["width"] == -1:
        return op.Identity(n.inputs[0])
    if not isinstance(kind, DType) or kind.name not in WIDER:
        return refuse(f"no other dtype represents all values of {kind}")
    options = {name: n.attrs[name] for name in ("precision", "scientific", "shortest", "width", "fill")}
    return op.AsString(op.Cast(n.inputs[0], DstT=WIDER[kind.name]), **options)


@rule("StringJoin", keeps=EXACT)
def nothing_joined(op: NodeBuilder, n: Node) -> Replacement:
    """Joining no strings gives the empty string."""
    return refuse("it has inputs") if n.inputs else op.const(b"")


@rule("StringSplitV2", keeps=EXACT)
def split_at_each_byte(op: NodeBuilder, n: Node) -> Replacement:
    """StringSplit splits at each byte of its delimiter: at whitespace, or at a separator of one byte."""
    separator = op.constant(n.inputs[1])
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
