"""Numbers read from text, as TensorFlow reads them: all of the text, blanks around it apart.

Integers are decimal. Floats are what C's strtod takes, so also `0x1.8p3`, `inf`, `nan(…)`.
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
    """The numbers that texts say, or RunFailed."""
    read = reader(dtype)
    return np.array([_said(read, text, dtype) for text in values], dtype)


def _said(read: Callable[[bytes], Any], text: bytes, dtype: np.dtype[Any]) -> Any:
    value = read(text)
    if value is None:
        raise RunFailed(f"`{printable(text)}` is no number of type {dtype}")
    return value


def reader(dtype: np.dtype[Any]) -> Callable[[bytes], Any]:
    """What makes a number of a text, or None of a text that is none."""
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        low, high = int(limits.min), int(limits.max)
        return lambda text: _integer(text, low, high)
    return _float32 if dtype == np.float32 else _float


def _integer(text: bytes, low: int, high: int) -> int | None:
    found = _INTEGER(text)
    if found is None or (low == 0 and b"-" in text) or len(text) > 4000:
        return None
    value = int(found[1])
    return value if low <= value <= high else None


def _float(text: bytes) -> float | None:
    found = _DECIMAL(text)
    if found is not None:
        return float(found[1])
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
    """Rounded once: where the double lies between two floats, the digits decide."""
    wide = _float(text)
    if wide is None:
        return None
    near = np.float32(wide)
    if float(near) == wide or wide != wide or _DECIMAL(text) is None:
        return near
    below, above = np.float32(np.nextafter(wide, -np.inf)), np.float32(np.nextafter(wide, np.inf))
    if below == above or abs(wide) == np.inf:
        return near
    exact = Fraction(text.strip().decode())
    return above if exact > Fraction(wide) else below if exact < Fraction(wide) else near
