"""Regular expressions as attributes or inputs, and simple ones by string ops."""

from __future__ import annotations

import re

from tfport.fix.nodes.builder import RuleBuilder
from tfport.fix.nodes.row_splits import column
from tfport.fix.rule import EXACT, LOSSY, Replacement, refuse, rule
from tfport.fix.rules.strings.basic import StringBytes, leads, single_bytes
from tfport.graph.dtypes import INT64
from tfport.graph.graph import Node, Value
from tfport.runtime.ops.strings.byte_strings import attr_bytes
from tfport.runtime.ops.strings.kernels.regex import compiled_regex

LITERAL = re.compile(rb"\^?((?:\\[^0-9A-Za-z]|[^\\.^$|?*+()\[\]{}])*)\$?", re.DOTALL)
"""Literal characters, plain or escaped, with or without anchors."""
PREFIX = re.compile(rb"\^?((?:\\[^0-9A-Za-z]|[^\\.^$|?*+()\[\]{}])*)\.\*\$?", re.DOTALL)
ONE_OF = re.compile(
    rb"(?:\[(?!\^)(?:\[:\w+:\]|\\[^pPxQEAzZbBCWSDuU0-9]|[^\]\\\[])+\]|\\[sdwnrtfv]|\\[^0-9A-Za-z]|[^\\.^$|?*+()\[\]{}])(\+?)",
    re.DOTALL,
)
"""A character class, once or, if the group is not empty, repeated."""
NONE_OF = re.compile(rb"(?:\[\^(?:\[:\w+:\]|\\[^pPxQEAzZbBCWSDuU0-9]|[^\]\\\[])+\]|\\[WSD])(\+?)", re.DOTALL)
"""A negated character class, likewise."""
LONGEST_WORD = 32
ESCAPED = re.compile(rb"\\(.)", re.DOTALL)


@rule("StaticRegexFullMatch", keeps=EXACT)
def match_a_constant_pattern(op: RuleBuilder, n: Node) -> Replacement:
    """RegexFullMatch takes the same pattern as an input."""
    return op.RegexFullMatch(n.inputs[0], attr_bytes(n.attrs["pattern"]))


@rule("StaticRegexReplace", keeps=EXACT)
def replace_a_constant_pattern(op: RuleBuilder, n: Node) -> Replacement:
    """RegexReplace takes the same pattern and rewrite as inputs."""
    pattern, rewrite = attr_bytes(n.attrs["pattern"]), attr_bytes(n.attrs["rewrite"])
    return op.RegexReplace(n.inputs[0], pattern, rewrite, replace_global=n.attrs["replace_global"])


@rule("RegexFullMatch", keeps=EXACT)
def pattern_as_attribute(op: RuleBuilder, n: Node) -> Replacement:
    """StaticRegexFullMatch takes a constant pattern as an attribute."""
    return op.StaticRegexFullMatch(n.inputs[0], pattern=_text(op, n.inputs[1]))


@rule("RegexReplace", keeps=EXACT)
def pattern_and_rewrite_as_attributes(op: RuleBuilder, n: Node) -> Replacement:
    """StaticRegexReplace takes a constant pattern and rewrite as attributes."""
    pattern, rewrite = _text(op, n.inputs[1]), _text(op, n.inputs[2])
    return op.StaticRegexReplace(
        n.inputs[0], pattern=pattern, rewrite=rewrite, replace_global=n.attrs["replace_global"]
    )


@rule("RegexFullMatch", keeps=EXACT)
def equal_to_a_literal(op: RuleBuilder, n: Node) -> Replacement:
    """A pattern of literal characters matches only the equal string."""
    pattern = _bytes(op, n.inputs[1])
    if not (match := LITERAL.fullmatch(pattern)):
        return refuse(f"its pattern {pattern!r} is not literal")
    return op.Equal(n.inputs[0], ESCAPED.sub(rb"\1", match[1]))


@rule("RegexFullMatch", keeps=LOSSY)
def begins_with_a_literal(op: RuleBuilder, n: Node) -> Replacement:
    """Literal characters followed by .* are compared with the start of a string; line ends are ignored."""
    pattern = _bytes(op, n.inputs[1])
    if not (match := PREFIX.fullmatch(pattern)):
        return refuse(f"its pattern {pattern!r} is not literal characters followed by .*")
    start = ESCAPED.sub(rb"\1", match[1])
    if b"\0" in start:
        return refuse(f"its pattern {pattern!r} has a zero byte")
    # in 1.4 Substr of an empty string fails
    return op.Equal(op.Substr(op.StringJoin([n.inputs[0], b"\0"]), 0, len(start)), start)


@rule("RegexReplace", keeps=EXACT)
def replaced_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """For a class of ASCII characters, each byte is kept, replaced by the rewrite, or removed."""
    pattern, rewrite = _bytes(op, n.inputs[1]), _plain_rewrite(op, n)
    match = ONE_OF.fullmatch(pattern)
    if not match or not pattern.isascii():
        return refuse(f"its pattern {pattern!r} is not a class of ASCII characters")
    return _replaced(op, n.inputs[0], pattern, bool(match[1]), rewrite)


@rule("RegexReplace", keeps=LOSSY)
def others_replaced_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """For a negated class of ASCII characters; bytes that are not UTF-8 are replaced too."""
    pattern, rewrite = _bytes(op, n.inputs[1]), _plain_rewrite(op, n)
    match = NONE_OF.fullmatch(pattern)
    if not match or not pattern.isascii():
        return refuse(f"its pattern {pattern!r} is not a negated class of ASCII characters")
    return _replaced(op, n.inputs[0], pattern, bool(match[1]), rewrite)


def _replaced(op: RuleBuilder, text: Value, pattern: bytes, several: bool, rewrite: bytes) -> Node:
    """Replace the characters that a pattern matches one by one, or adjacent ones at once."""
    match = compiled_regex(pattern).fullmatch
    others = bool(match("\u00e9".encode()))
    inside = [bool(match(byte)) if byte.isascii() else others for byte in single_bytes()]
    strings = StringBytes(op, text)
    if not several or not rewrite:
        parts = [(rewrite if leads(code) else b"") if inside[code] else bytes([code]) for code in range(256)]
        return strings.joined(strings.mapped(parts))
    matrix = strings.matrix(strings.numbered([int(byte) for byte in inside]), 0)
    before = op.Pad(
        op.StridedSlice(matrix, [0, 0], [0, -1], [1, 1], begin_mask=3, end_mask=1), [[0, 0], [1, 0]]
    )
    kept, size = strings.matrix(strings.bytes, b""), op.Shape(matrix, out_type="int32")
    out = op.Select(op.Greater(matrix, 0), op.Fill(size, b""), kept)
    first = op.Greater(matrix, before)
    return strings.shaped(op.ReduceJoin(op.Select(first, op.Fill(size, rewrite), out), [1]))


@rule("RegexReplace", keeps=EXACT)
def literal_replaced_by_bytes(op: RuleBuilder, n: Node) -> Replacement:
    """The first byte of each occurrence of a word becomes the rewrite, and its other bytes are removed."""
    pattern, rewrite = _bytes(op, n.inputs[1]), _plain_rewrite(op, n)
    match = LITERAL.fullmatch(pattern)
    word = ESCAPED.sub(rb"\1", match[1]) if match and match[0] == match[1] else b""
    if not word or len(word) > LONGEST_WORD:
        return refuse(f"its pattern {pattern!r} is not 1 to {LONGEST_WORD} literal characters")
    if any(word.startswith(word[i:]) for i in range(1, len(word))):
        return refuse(f"its pattern {pattern!r} may overlap with itself")
    strings = StringBytes(op, n.inputs[0])
    begins = _begins(op, strings, word)
    covered = _shifted(op, begins, len(word) - 1)
    size = op.Shape(strings.bytes, out_type="int32")
    rest = op.Select(covered, op.Fill(size, b""), strings.bytes) if len(word) > 1 else strings.bytes
    return strings.joined(op.Select(begins, op.Fill(size, rewrite), rest))


def _begins(op: RuleBuilder, strings: StringBytes, word: bytes) -> Node:
    """Whether the word starts at each byte, within one string."""
    size = op.Shape(strings.bytes, out_type="int32")
    row = column(op, strings.indices, 0)
    behind = len(word) - 1
    text = op.ConcatV2([strings.bytes, op.const([b""] * behind)], 0) if behind else strings.bytes
    rows = op.ConcatV2([row, op.const([-1] * behind, INT64)], 0) if behind else row
    equal = op.Equal(row, op.Slice(rows, [behind], size))
    for index in range(len(word)):
        equal = op.LogicalAnd(equal, op.Equal(op.Slice(text, [index], size), word[index : index + 1]))
    return equal


def _shifted(op: RuleBuilder, begins: Node, by: int) -> Node:
    """Whether a word started up to `by` bytes before, for each byte."""
    size = op.Shape(begins, out_type="int32")
    padded = op.ConcatV2([op.const([False] * by), begins], 0) if by else begins
    covered = op.Slice(padded, [0], size)
    for index in range(1, by):
        covered = op.LogicalOr(covered, op.Slice(padded, [index], size))
    return covered


def _plain_rewrite(op: RuleBuilder, n: Node) -> bytes:
    rewrite = _bytes(op, n.inputs[2])
    if b"\\" in rewrite:
        raise refuse(f"its rewrite {rewrite!r} has a backslash")
    if not n.attrs["replace_global"]:
        raise refuse("it replaces only the first match")
    return rewrite


def _bytes(op: RuleBuilder, value: Value) -> bytes:
    array = op.array(value)
    if array is None or array.ndim:
        raise refuse(f"`{value}` is not constant")
    return attr_bytes(array.item())


def _text(op: RuleBuilder, value: Value) -> str | bytes:
    """A constant string as an attribute value."""
    text = _bytes(op, value)
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text
