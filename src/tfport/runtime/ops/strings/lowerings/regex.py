"""Strings matched by RE2, lowered to ONNX for exported files."""

from __future__ import annotations

from tfport.graph.dtypes import BOOL
from tfport.runtime.lower import CannotLower, constant_of, lower
from tfport.runtime.ops.strings.byte_strings import attr_bytes, scalar_value


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
