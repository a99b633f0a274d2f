"""StringLower, StringUpper, StringStrip, StringLength and Substr.

Case mapping with `utf-8` follows Unicode 13, as in TensorFlow; Python's Unicode may be newer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import LOWER, UPPER, map_strings

_NEWER = re.compile(
    "([\u1c89\u1c8a\u2c2f\u2c5f\ua7c0\ua7c1\ua7cb-\ua7f1\U00010570-\U000105bc\U00010d50-\U00010d85\U00016ea0-\U00016ed3]+)"
)
"""Letters for which a Unicode version after 13 added the other case."""
_TRAILING = re.compile(rb"[\x80-\xbf]+")


@host("StringLower")
def string_lower(input, *, encoding):
    return map_strings(input, lower_case(encoding))


@host("StringUpper")
def string_upper(input, *, encoding):
    return map_strings(input, upper_case(encoding))


def lower_case(encoding: str) -> Callable[[bytes], bytes]:
    """What StringLower does with one string."""
    return _in_unicode(str.lower) if _is_unicode(encoding) else LOWER


def upper_case(encoding: str) -> Callable[[bytes], bytes]:
    """What StringUpper does with one string."""
    return _in_unicode(str.upper) if _is_unicode(encoding) else UPPER


def _in_unicode(change: Callable[[str], str]) -> Callable[[bytes], bytes]:
    return lambda text: _change_case(_up_to_zero_byte(text), change)


def _up_to_zero_byte(text: bytes) -> bytes:
    """The text up to the first zero byte: TensorFlow passes it to ICU as a C string."""
    return text.partition(b"\0")[0]


def _is_unicode(encoding: str) -> bool:
    if encoding not in ("", "utf-8"):
        raise RunFailed(f"encoding must be `utf-8` or empty, found `{encoding}`")
    return encoding == "utf-8"


def _change_case(text: bytes, change: Any) -> bytes:
    word = text.decode(errors="replace")
    if not word.isascii() and _NEWER.search(word):
        parts = _NEWER.split(word)
        parts[::2] = map(change, parts[::2])
        word = "".join(parts)
    else:
        word = change(word)
    return word.encode()


@host("StringStrip")
def string_strip(input):
    return map_strings(input, bytes.strip)


@host("StringLength")
def string_length(input, *, unit):
    flat = input.reshape(-1).tolist()
    if unit == "UTF8_CHAR":
        # count every byte that is not a continuation byte, valid or not
        flat = [_TRAILING.sub(b"", text) for text in flat]
    return np.fromiter(map(len, flat), np.int32, len(flat)).reshape(input.shape)


@host("Substr")
def substr(input, pos, len, *, unit):
    if pos.shape != len.shape:
        raise RunFailed(f"pos and len must have equal shapes, found {list(pos.shape)} and {list(len.shape)}")
    if pos.ndim and pos.shape != input.shape and max(pos.ndim, input.ndim) > 2:
        raise RunFailed(
            f"broadcasting supports at most two axes, found shapes {list(input.shape)} and {list(pos.shape)}"
        )
    part = _bytes_of if unit == "BYTE" else _characters_of
    strings, starts, sizes = np.broadcast_arrays(input, pos, len)
    rows = zip(
        strings.reshape(-1).tolist(), starts.reshape(-1).tolist(), sizes.reshape(-1).tolist(), strict=True
    )
    return string_array([part(*row) for row in rows], strings.shape)


def _bytes_of(text: bytes, start: int, size: int) -> bytes:
    start = _checked_start(start, len(text))
    return text[start:] if size < 0 else text[start : start + size]


def _characters_of(text: bytes, start: int, size: int) -> bytes:
    """Characters start at the first byte of the string and at every byte that is not a continuation byte."""
    starts = [i for i, byte in enumerate(text) if not i or byte & 0xC0 != 0x80]
    if start < 0 and size < 0:
        raise RunFailed(f"len must not be negative if pos is negative, found {size}")
    start = _checked_start(start, len(starts))
    if size <= 0 or start == len(starts):
        return b""
    end = starts[start + size] if start + size < len(starts) else len(text)
    return text[starts[start] : end]


def _checked_start(start: int, size: int) -> int:
    if not -size <= start <= size:
        raise RunFailed(f"pos {start} is out of range for a string of length {size}")
    return start + size if start < 0 else start
