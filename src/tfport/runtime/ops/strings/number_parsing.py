"""Parse numbers as TensorFlow does: the whole text, without surrounding whitespace.

Integers are decimal. Floats have the syntax of C's strtod, including `0x1.8p3`, `inf`, `nan(…)`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.strings.byte_strings import printable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_INTEGER = re.compile(rb"[ \t\n\v\f\r]*([+-]?[0-9]+)[ \t\n\v\f\r]*").fullmatch
_DECIMAL = re.compile(
    rb"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[ \t\n\v\f\r]*"
).fullmatch
_HEXADECIMAL = re.compile(
    rb"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
).fullmatch
_SPECIAL = re.compile(rb"([+-]?)(?:(inf(?:inity)?)|nan(?:\([0-9a-z_]*\))?)", re.IGNORECASE).fullmatch


def numbers(values: Sequence[bytes], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Parse strings as numbers; RunFailed for invalid text."""
    parse = parser(dtype)
    return np.array([_parsed(parse, text, dtype) for text in values], dtype)


def _parsed(parse: Callable[[bytes], Any], text: bytes, dtype: np.dtype[Any]) -> Any:
    value = parse(text)
    if value is None:
        raise RunFailed(f"cannot parse `{printable(text)}` as {dtype}")
    return value


def parser(dtype: np.dtype[Any]) -> Callable[[bytes], Any]:
    """The parser for a dtype; it returns None for invalid text."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        return lambda text: _integer(text, low, high)
    return _float32 if dtype == np.float32 else _float


def _integer(text: bytes, low: int, high: int) -> int | None:
    match = _INTEGER(text)
    if match is None or (low == 0 and b"-" in text) or len(text) > 4000:
        return None
    value = int(match[1])
    return value if low <= value <= high else None


def _float(text: bytes) -> float | None:
    match = _DECIMAL(text)
    if match is not None:
        return float(match[1])
    bare = text.strip()
    if special := _SPECIAL(bare):
        value = float("inf") if special[2] else float("nan")
        return -value if special[1] == b"-" else value
    if _HEXADECIMAL(bare):
        try:
            return float.fromhex(bare.decode())
        except OverflowError:
            return float("-inf" if bare.startswith(b"-") else "inf")
    return None


def _float32(text: bytes) -> np.float32 | None:
    """Round to float32 only once: if the double lies halfway between two floats, the digits decide."""
    double = _float(text)
    if double is None:
        return None
    near = np.float32(double)
    if float(near) == double or double != double or _DECIMAL(text) is None:
        return near
    below, above = np.float32(np.nextafter(double, -np.inf)), np.float32(np.nextafter(double, np.inf))
    if below == above or abs(double) == np.inf:
        return near
    exact = Fraction(text.strip().decode())
    return above if exact > Fraction(double) else below if exact < Fraction(double) else near
