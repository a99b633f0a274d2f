"""Strings that are joined, matched by RE2 and written from integers, lowered to ONNX for exported files.

ONNX splits at blanks only, so StringSplitV2 has no lowering.
"""

from __future__ import annotations

from tfport.graph.dtypes import BOOL, STRING
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.onnx.model import ELEMENT_TYPES
from tfport.runtime.ops.strings.byte_strings import attr_bytes, scalar_value, string_array


@lower("StringJoin")
def string_join(b, inputs, *, separator):
    if not inputs:
        raise CannotLower("it joins nothing")
    joined = inputs[0]
    between = b.const(string_array([attr_bytes(separator)], ()), STRING) if separator else None
    if len(inputs) == 1:
        return b.Identity(joined)
    for text in inputs[1:]:
        joined = b.StringConcat(joined, between) if between is not None else joined
        joined = b.StringConcat(joined, text)
    return joined


@lower("AsString")
def as_string(b, input, *, precision, scientific, shortest, width, fill):
    if input.dtype.name not in ("int32", "int64"):
        raise CannotLower("ONNX writes other numbers than integers in another form")
    if precision != -1 or scientific or shortest or width > -1 or fill:
        raise CannotLower("ONNX has no width and no precision of numbers")
    return b.nodes("Cast", input, dtype=STRING, to=ELEMENT_TYPES[STRING.name])[0]


@lower("RegexFullMatch")
def regex_full_match(b, input, pattern):
    return _matches(b, input, scalar_value(constant_of(pattern, "the pattern"), "pattern"))


@lower("StaticRegexFullMatch")
def static_regex_full_match(b, input, *, pattern):
    return _matches(b, input, attr_bytes(pattern))


def _matches(b, input, pattern):
    """Both match with RE2."""
    return b.nodes("RegexFullMatch", input, dtype=BOOL, shape=input.shape, pattern=_text(pattern))[0]


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise CannotLower("the pattern is not UTF-8") from None
