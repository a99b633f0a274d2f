"""Strings one by one: case, blanks, lengths, parts, numbers as text, and strings split into words."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.rule import EXACT, LOSSY, Replacement, refuse, rule
from tfport.fix.rules.strings.string_bytes import Bytes, leads, single_bytes
from tfport.graph.dtypes import INT64, STRING, DType
from tfport.graph.graph import Node
from tfport.runtime.ops.strings.byte_strings import attr_bytes

BLANKS = b" \t\n\v\f\r"
WIDER = {
    "uint8": "int32", "int16": "int32", "uint16": "int32", "uint32": "int64",
    "float16": "float32", "bfloat16": "float32",
}  # fmt: skip
"""Types that the first AsString takes, for those that it does not."""


@rule("StringLower", keeps=EXACT)
def lower_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """Without an encoding the letters A to Z become a to z, byte by byte, and nothing else changes."""
    if n.attrs["encoding"]:
        return refuse(f"with the encoding {n.attrs['encoding']} other letters than A to Z change too")
    strings = Bytes(op, n.inputs[0])
    return strings.joined(strings.mapped([byte.lower() for byte in single_bytes()]))


@rule("StringUpper", keeps=EXACT)
def upper_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """Without an encoding the letters a to z become A to Z, byte by byte, and nothing else changes."""
    if n.attrs["encoding"]:
        return refuse(f"with the encoding {n.attrs['encoding']} other letters than a to z change too")
    strings = Bytes(op, n.inputs[0])
    return strings.joined(strings.mapped([byte.upper() for byte in single_bytes()]))


@rule("StringLower StringUpper", keeps=LOSSY)
def only_ascii_letters(op: NodeBuilder, n: Node) -> Replacement:
    """Without the encoding only the 26 letters of ASCII change their case."""
    if not n.attrs["encoding"]:
        return refuse("it has no encoding")
    return op.node(n.op, n.inputs[0], encoding="")


@rule("StringStrip", keeps=EXACT)
def stripped_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """What is kept has a byte that is no blank at or before it, and one at or behind it."""
    strings = Bytes(op, n.inputs[0])
    solid = strings.matrix(strings.numbered([int(code not in BLANKS) for code in range(256)]), 0)
    before, behind = op.Cumsum(solid, 1), op.Cumsum(solid, 1, reverse=True)
    return strings.kept(op.LogicalAnd(op.Greater(before, 0), op.Greater(behind, 0)))


@rule("StringLength", keeps=EXACT)
def counted_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """The number of bytes, or for UTF8_CHAR of those that do not continue a character."""
    strings = Bytes(op, n.inputs[0])
    counts = [1 if n.attrs["unit"] == "BYTE" else leads(code) for code in range(256)]
    return strings.shaped(op.Sum(strings.matrix(strings.numbered(counts), 0), [1]))


@rule("Substr", keeps=EXACT)
def parts_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """Characters are numbered by the bytes that begin one; those from pos on, len of them, are kept."""
    if n.attrs["unit"] != "UTF8_CHAR":
        return refuse("its unit is the byte already")
    text, pos, size = n.inputs
    dims = op.shape(pos)
    if dims is None or None in dims or (dims and dims != op.shape(text)):
        return refuse("its positions are neither one for all nor known to be one for each string")
    strings = Bytes(op, text)
    begins = strings.matrix(strings.numbered([leads(code) for code in range(256)]), 0)
    first = op.StridedSlice(begins, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1)
    # the first byte begins a character even if it should continue one
    number = op.Sub(op.Cumsum(begins, 1), first)
    total = op.Add(op.Sum(begins, [1], keep_dims=True), op.Sub(1, first))
    pos, size = (op.Reshape(op.Cast(value, DstT="int32"), [-1, 1]).output(0) for value in (pos, size))
    from_end = op.Cast(op.Less(pos, 0), DstT="int32")
    start = op.Add(pos, op.Mul(total, from_end))
    inside = op.LogicalAnd(op.GreaterEqual(number, start), op.Less(number, op.Add(start, size)))
    return strings.kept(inside)


@rule("AsString", keeps=EXACT)
def wider_number_as_string(op: NodeBuilder, n: Node) -> Replacement:
    """A number reads the same in a wider type, which holds it exactly."""
    kind = n.attrs["T"]
    if isinstance(kind, DType) and kind == STRING and n.attrs["width"] == -1:
        return op.Identity(n.inputs[0])
    if not isinstance(kind, DType) or kind.name not in WIDER:
        return refuse(f"no other type holds all of {kind}")
    options = {name: n.attrs[name] for name in ("precision", "scientific", "shortest", "width", "fill")}
    return op.AsString(op.Cast(n.inputs[0], DstT=WIDER[kind.name]), **options)


@rule("StringJoin", keeps=EXACT)
def nothing_joined(op: NodeBuilder, n: Node) -> Replacement:
    """Of no strings the empty one is made."""
    return refuse("it joins strings") if n.inputs else op.const(b"")


@rule("StringSplitV2", keeps=EXACT)
def split_at_each_byte(op: NodeBuilder, n: Node) -> Replacement:
    """StringSplit cuts at each of the bytes that it is given: at blanks, or at a separator of one byte."""
    separator = op.constant(n.inputs[1])
    if separator is None or separator.ndim:
        return refuse("its separator is not known beforehand")
    if n.attrs["maxsplit"] != -1:
        return refuse(f"StringSplit always cuts everywhere, not only maxsplit={n.attrs['maxsplit']} times")
    cut = attr_bytes(separator.item())
    if not cut:
        return op.StringSplit(n.inputs[0], BLANKS, skip_empty=True)
    if len(cut) > 1:
        return refuse(f"its separator has {len(cut)} bytes, and StringSplit would cut at each of them")
    # an empty string has no words there: with a separator behind it, every string has one word too many
    split = op.StringSplit(op.StringJoin([n.inputs[0], cut]), cut, skip_empty=False)
    rows = op.StridedSlice(split, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2)
    behind = op.StridedSlice(rows, [1], [0], [1], end_mask=1)
    next_row = op.ConcatV2([behind, op.const([-1], INT64)], 0)
    kept = op.Reshape(op.Where(op.Equal(rows, next_row)), [-1])
    shape = op.Maximum(op.Sub(split.output(2), [0, 1]), [0, 0])
    return [op.Gather(split.output(0), kept), op.Gather(split.output(1), kept), shape]
