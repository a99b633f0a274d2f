"""Characters of UTF-8 texts, and the properties of characters that ICU 77 (Unicode 16) gives them.

Ill-formed bytes are no characters: ICU reads the longest part that could begin a character as one error.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterator

from tfport.runtime.ops.strings.kernels.unicode import BROKEN, decoded

WHITESPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000"
)
NOT_A_CHARACTER = -1
"""The code point of ill-formed bytes."""
_gaps = re.compile(b"(?:" + b"|".join(character.encode() for character in WHITESPACE) + b")+").finditer
"""Whitespace. Its bytes are never part of ill-formed ones before it."""


def between_whitespace(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The parts of a text between whitespace, and where they begin."""
    at = 0
    for gap in _gaps(text):
        start, end = gap.span()
        if at < start:
            yield at, text[at:start]
        at = end
    if at < len(text):
        yield at, text[at:]


def code_points(text: bytes) -> tuple[list[int], list[int]]:
    """The code points of a text, and the offset of the first byte of each; the last is the end of the text."""
    if text.isascii():
        return list(text), list(range(len(text) + 1))
    characters = decoded(text, "utf-8")
    points = [NOT_A_CHARACTER if point == BROKEN else point for point in characters.points.tolist()]
    return points, [*characters.starts.tolist(), len(text)]


@functools.cache
def is_punctuation(point: int) -> bool:
    """Whether ICU's u_ispunct says so."""
    return point >= 0 and unicodedata.category(chr(point))[0] == "P"


_CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
_ASCII_PUNCTUATION = frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


def splits_words(point: int) -> bool:
    """Whether BERT treats a character as a word of its own: punctuation and Chinese characters."""
    return (
        any(first <= point <= last for first, last in _CHINESE)
        or point in _ASCII_PUNCTUATION
        or is_punctuation(point)
    )
