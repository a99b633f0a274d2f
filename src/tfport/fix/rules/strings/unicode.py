"""Unicode ops on UTF-8 by arithmetic on bytes."""

from __future__ import annotations

from tfport.fix.nodes.builder import NodeBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, lengths_of, longest, splits_of, wide
from tfport.fix.rule import EXACT, LOSSY, Replacement, refuse, rule
from tfport.fix.rules.strings.string_bytes import StringBytes, leads, single_bytes
from tfport.graph.dtypes import INT32, INT64, STRING
from tfport.graph.graph import Node

LAST, UNKNOWN = 0x10FFFF, 0xFFFD
SURROGATES = (0xD800, 0xE000)
NO_BYTE = 256
HEADS = (0, 0xC0, 0xE0, 0xF0)
"""The marker bits of the first byte, by the number of continuation bytes."""


def _follow(code: int) -> int:
    """The number of continuation bytes after a first byte."""
    return (code >= 0xC0) + (code >= 0xE0) + (code >= 0xF0)


@rule("UnicodeDecode UnicodeDecodeWithOffsets", keeps=LOSSY)
def decoded_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """Code points of valid UTF-8 by arithmetic on bytes; invalid bytes are not replaced."""
    if not _is_utf8(n.attrs["input_encoding"]):
        return refuse(f"its input_encoding is {n.attrs['input_encoding']}; expected UTF-8")
    if n.attrs["replace_control_characters"]:
        return refuse("replace_control_characters is not supported")
    strings = StringBytes(op, n.inputs[0])
    begins = strings.numbered([leads(code) for code in range(256)])
    at = op.Cast(op.Reshape(op.Where(op.Greater(begins, 0)), [-1]), DstT="int32")
    padded = op.ConcatV2([strings.codes, op.const([0, 0, 0], INT32)], 0)
    first = op.Gather(padded, at)
    points = op.Mul(
        _by(op, first, lambda c: c - HEADS[_follow(c)]), _by(op, first, lambda c: 64 ** _follow(c))
    )
    for place in (1, 2, 3):
        part = op.FloorMod(op.Gather(padded, op.Add(at, place)), 64)
        weight = _by(op, first, lambda c, k=place: 64 ** (_follow(c) - k) if _follow(c) >= k else 0)
        points = op.Add(points, op.Mul(part, weight))
    counts = op.Cast(op.Sum(strings.matrix(begins, 0), [1]), DstT="int64")
    splits = splits_of(op, counts)
    splits = splits if n.attrs["Tsplits"] == INT64 else op.Cast(splits, DstT=n.attrs["Tsplits"])
    offsets = [op.Gather(column(op, strings.places, 1), at)] if n.op == "UnicodeDecodeWithOffsets" else []
    return [splits, points, *offsets]


def _by(op: NodeBuilder, codes: Node, number: object) -> Node:
    """Map each byte to a number."""
    assert callable(number)
    return op.Gather(op.const([number(code) for code in range(256)], INT32), codes)


@rule("UnicodeEncode", keeps=EXACT)
def encoded_by_bytes(op: NodeBuilder, n: Node) -> Replacement:
    """UTF-8 bytes by arithmetic on code points; invalid code points are replaced or dropped."""
    if n.attrs["output_encoding"] != "UTF-8":
        return refuse(f"its output_encoding is {n.attrs['output_encoding']}; expected UTF-8")
    if n.attrs["errors"] == "strict":
        return refuse("errors=strict is not supported")
    splits = n.inputs[1]
    points = _settled(op, n)
    follow = op.AddN([op.Cast(op.GreaterEqual(points, p), DstT="int32") for p in (0x80, 0x800, 0x10000)])
    heads = op.Gather(op.const(HEADS, INT32), follow)
    table = op.const([*single_bytes(), b""], STRING)
    none = op.Add(op.ZerosLike(points), NO_BYTE)
    parts = []
    for place in (3, 2, 1, 0):
        rest = op.FloorDiv(points, 64**place)
        tail = op.Select(op.Greater(follow, place), op.Add(op.FloorMod(rest, 64), 0x80), none)
        code = op.Select(op.Equal(follow, place), op.Add(rest, heads), tail)
        # a dropped code point is negative
        parts.append(op.Gather(table, op.Select(op.Less(points, 0), none, code)))
    lengths = lengths_of(op, wide(op, splits))
    shape = op.Pack([count_of(op, lengths), op.Add(longest(op, lengths), op.const(1, INT64))])
    matrix = op.SparseToDense(indices_of(op, lengths), shape, op.StringJoin(parts), b"")
    return op.ReduceJoin(matrix, [1])


def _settled(op: NodeBuilder, n: Node) -> Node:
    """The code points with invalid ones replaced; -1 for dropped ones."""
    points, (low, high) = n.inputs[0], SURROGATES
    surrogate = op.LogicalAnd(op.GreaterEqual(points, low), op.Less(points, high))
    wrong = op.LogicalOr(op.LogicalOr(op.Less(points, 0), op.Greater(points, LAST)), surrogate)
    other = n.attrs["replacement_char"] if n.attrs["errors"] == "replace" else -1
    assert isinstance(other, int)
    other = UNKNOWN if low <= other < high else other
    return op.Select(wrong, op.Add(op.ZerosLike(points), other), points)


@rule("UnicodeTranscode", keeps=LOSSY)
def valid_already(op: NodeBuilder, n: Node) -> Replacement:
    """Valid UTF-8 is unchanged; invalid bytes are not replaced."""
    if not _is_utf8(n.attrs["input_encoding"]) or n.attrs["output_encoding"] != "UTF-8":
        return refuse(f"it converts {n.attrs['input_encoding']} to {n.attrs['output_encoding']}")
    if n.attrs["replace_control_characters"]:
        return refuse("replace_control_characters is not supported")
    return op.Identity(n.inputs[0])


def _is_utf8(encoding: object) -> bool:
    return isinstance(encoding, str) and encoding.lower().replace("_", "-") in ("utf-8", "utf8")
