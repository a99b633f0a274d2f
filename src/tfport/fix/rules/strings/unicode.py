"""Unicode ops on UTF-8 by arithmetic on bytes, also of text that is not valid."""

from __future__ import annotations

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column, count_of, indices_of, lengths_of, longest, splits_of, wide
from tfport.fix.rule import EXACT, Replacement, refuse, rule
from tfport.fix.rules.strings.basic import StringBytes, single_bytes
from tfport.graph.dtypes import INT32, INT64, STRING
from tfport.graph.graph import Node

LAST, UNKNOWN = 0x10FFFF, 0xFFFD
SURROGATES = (0xD800, 0xE000)
NO_BYTE = 256
HEADS = (0, 0xC0, 0xE0, 0xF0)
"""The marker bits of the first byte, by the number of continuation bytes."""


CONTINUATION = range(0x80, 0xC0)
SECOND = {0xE0: (0xA0, 0xBF), 0xED: (0x80, 0x9F), 0xF0: (0x90, 0xBF), 0xF4: (0x80, 0x8F)}
"""What may follow a first byte, if not every continuation byte: no surrogates, no longer form than needed."""
LAST_CONTROL = 0x1F


def _follow(code: int) -> int:
    """The number of continuation bytes after a first byte; 0 if it begins no character."""
    return (0xC2 <= code <= 0xF4) + (0xE0 <= code <= 0xF4) + (0xF0 <= code <= 0xF4)


@rule("UnicodeDecode UnicodeDecodeWithOffsets", keeps=EXACT)
def decoded_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """Code points of UTF-8 by arithmetic on bytes; invalid bytes are replaced or dropped."""
    if not _is_utf8(n.attrs["input_encoding"]):
        return refuse(f"its input_encoding is {n.attrs['input_encoding']}; expected UTF-8")
    if n.attrs["errors"] == "strict":
        return refuse("errors=strict is not supported")
    strings = StringBytes(op, n.inputs[0])
    text = _Utf8(op, strings)
    points, wrong = text.points(), text.wrong
    if n.attrs["replace_control_characters"]:
        wrong = op.LogicalOr(wrong, op.LessEqual(points, LAST_CONTROL))
    kept = text.begins
    if n.attrs["errors"] == "replace":
        points = op.Select(wrong, op.Add(op.ZerosLike(points), n.attrs["replacement_char"]), points)
    else:
        kept = op.LogicalAnd(kept, op.LogicalNot(wrong))
    at = op.Cast(op.Reshape(op.Where(kept), [-1]), DstT="int32")
    counts = op.Cast(op.Sum(strings.matrix(op.Cast(kept, DstT="int32"), 0), [1]), DstT="int64")
    splits = splits_of(op, counts)
    splits = splits if n.attrs["Tsplits"] == INT64 else op.Cast(splits, DstT=n.attrs["Tsplits"])
    offsets = [op.Gather(column(op, strings.indices, 1), at)] if n.op == "UnicodeDecodeWithOffsets" else []
    return [splits, op.Gather(points, at), *offsets]


class _Utf8:
    """What each byte of strings is in UTF-8.

    A first byte is followed by the continuation bytes that it may have, up to the first that is none;
    if there are fewer than it needs, they are one error. Other continuation bytes are errors by themselves.
    """

    def __init__(self, op: RuleBuilder, strings: StringBytes) -> None:
        self.op, self.codes = op, strings.codes
        self.indices = op.Range(0, op.Size(self.codes, out_type="int32"), 1)
        rows = op.Cast(column(op, strings.indices, 0), DstT="int32")
        self.next = [self._next(rows, k) for k in (1, 2, 3)]
        self.follow = _by(op, self.codes, _follow)
        fits = [
            op.LogicalAnd(
                op.GreaterEqual(self.next[0], _by(op, self.codes, lambda c: _second(c)[0])),
                op.LessEqual(self.next[0], _by(op, self.codes, lambda c: _second(c)[1])),
            ),
            *(self._continues(code) for code in self.next[1:]),
        ]
        belongs = [op.Greater(self.follow, k) for k in range(3)]
        for k in range(3):
            belongs[k] = op.LogicalAnd(belongs[k], fits[k])
            if k:
                belongs[k] = op.LogicalAnd(belongs[k], belongs[k - 1])
        numbers = [op.Cast(each, DstT="int32") for each in belongs]
        starts = _by(op, self.codes, lambda c: int(c < 0x80 or _follow(c) > 0))
        whole = op.LogicalAnd(op.Equal(op.AddN(numbers), self.follow), op.Greater(starts, 0))
        self.wrong = op.LogicalNot(whole)
        taken = op.AddN([self._before(number, k + 1) for k, number in enumerate(numbers)])
        self.begins = op.Equal(taken, 0)

    def points(self) -> Node:
        """The code point of each byte that begins one."""
        op, lead = self.op, self.codes
        points = op.Mul(
            _by(op, lead, lambda c: c - HEADS[_follow(c)]), _by(op, lead, lambda c: 64 ** _follow(c))
        )
        for index, code in enumerate(self.next, 1):
            weight = _by(op, lead, lambda c, k=index: 64 ** (_follow(c) - k) if _follow(c) >= k else 0)
            points = op.Add(points, op.Mul(op.FloorMod(code, 64), weight))
        return points

    def _next(self, rows: Node, distance: int) -> Node:
        """The byte this far behind each, 0 if it is not of the same string."""
        op = self.op
        ends = [-1] * distance
        at = op.Add(self.indices, distance)
        code = op.Gather(op.ConcatV2([self.codes, op.const(ends, INT32)], 0), at)
        same = op.Equal(op.Gather(op.ConcatV2([rows, op.const(ends, INT32)], 0), at), rows)
        return op.Select(same, code, op.ZerosLike(code))

    def _before(self, numbers: Node, distance: int) -> Node:
        """The number of the byte this far before each."""
        op = self.op
        return op.Gather(op.ConcatV2([op.const([0] * distance, INT32), numbers], 0), self.indices)

    def _continues(self, code: Node) -> Node:
        low, high = CONTINUATION[0], CONTINUATION[-1]
        return self.op.LogicalAnd(self.op.GreaterEqual(code, low), self.op.LessEqual(code, high))


def _second(code: int) -> tuple[int, int]:
    """The least and the greatest byte that may follow a first byte."""
    return SECOND.get(code, (CONTINUATION[0], CONTINUATION[-1]))


def _by(op: RuleBuilder, codes: Node, number: object) -> Node:
    """Map each byte to a number."""
    assert callable(number)
    return op.Gather(op.const([number(code) for code in range(256)], INT32), codes)


@rule("UnicodeEncode", keeps=EXACT)
def encoded_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
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
    for behind in (3, 2, 1, 0):
        rest = op.FloorDiv(points, 64**behind)
        tail = op.Select(op.Greater(follow, behind), op.Add(op.FloorMod(rest, 64), 0x80), none)
        code = op.Select(op.Equal(follow, behind), op.Add(rest, heads), tail)
        # a dropped code point is negative
        parts.append(op.Gather(table, op.Select(op.Less(points, 0), none, code)))
    lengths = lengths_of(op, wide(op, splits))
    shape = op.Pack([count_of(op, lengths), op.Add(longest(op, lengths), op.const(1, INT64))])
    matrix = op.SparseToDense(indices_of(op, lengths), shape, op.StringJoin(parts), b"")
    return op.ReduceJoin(matrix, [1])


def _settled(op: RuleBuilder, n: Node) -> Node:
    """The code points with invalid ones replaced; -1 for dropped ones."""
    points, (low, high) = n.inputs[0], SURROGATES
    surrogate = op.LogicalAnd(op.GreaterEqual(points, low), op.Less(points, high))
    wrong = op.LogicalOr(op.LogicalOr(op.Less(points, 0), op.Greater(points, LAST)), surrogate)
    other = n.attrs["replacement_char"] if n.attrs["errors"] == "replace" else -1
    assert isinstance(other, int)
    other = UNKNOWN if low <= other < high else other
    return op.Select(wrong, op.Add(op.ZerosLike(points), other), points)


@rule("UnicodeTranscode", keeps=EXACT)
def decoded_and_encoded(op: RuleBuilder, n: Node) -> Replacement:
    """UTF-8 is decoded to code points, where invalid bytes are replaced or dropped, and encoded again."""
    encodings = n.attrs["input_encoding"], n.attrs["output_encoding"]
    if not all(_is_utf8(encoding) for encoding in encodings):
        return refuse(f"it converts {encodings[0]} to {encodings[1]}; expected UTF-8 to UTF-8")
    if n.attrs["errors"] == "strict":
        return refuse("errors=strict is not supported")
    text = n.inputs[0]
    same = ("errors", "replacement_char", "replace_control_characters")
    decoded = op.UnicodeDecode(
        op.Reshape(text, [-1]), input_encoding="UTF-8", **{name: n.attrs[name] for name in same}
    )
    points, splits = decoded.output(1), decoded.output(0)
    encoded = op.UnicodeEncode(points, splits, output_encoding="UTF-8", errors="replace")
    return op.Reshape(encoded, op.Shape(text, out_type="int32"))


def _is_utf8(encoding: object) -> bool:
    return isinstance(encoding, str) and encoding.lower().replace("_", "-") in ("utf-8", "utf8")
