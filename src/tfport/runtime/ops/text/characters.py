"""Characters of UTF-8 texts, and the properties of characters that ICU 77 (Unicode 16) gives them.

Ill-formed bytes are no characters: ICU reads the longest part that could begin a character as one error.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from importlib import resources
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.runtime.ops.strings.kernels.unicode import BROKEN, decoded

if TYPE_CHECKING:
    from numpy.typing import NDArray

WHITESPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000"
)
NOT_A_CHARACTER = -1
"""The code point of ill-formed bytes."""
_split_at_gaps = re.compile(f"([{WHITESPACE}]+)").split
_split_at_ascii_gaps = re.compile(rb"([\t-\r ]+)").split


def between_spaces(texts: list[bytes]) -> tuple[list[bytes], NDArray[Any], NDArray[Any]]:
    """The parts of texts between spaces, where they begin, and how many there are after each text."""
    parts = b" ".join(texts).split(b" ") if texts else []
    starts = np.cumsum(np.fromiter(map(len, parts), np.int64, len(parts)) + 1)
    row_ends = np.cumsum([text.count(b" ") + 1 for text in texts], dtype=np.int64)
    ends = np.append(0, starts)[row_ends]
    before = np.repeat(np.append(0, ends)[: len(texts)], np.diff(row_ends, prepend=0))
    return parts, np.append(0, starts)[: len(parts)] - before, row_ends


def between_whitespace(texts: list[bytes]) -> tuple[list[bytes], NDArray[Any], NDArray[Any]]:
    """The parts of texts between whitespace, where they begin, and how many there are after each text."""
    together = b"\n".join(texts)
    if together.isascii():
        parts = _split_at_ascii_gaps(together)
    else:
        characters = _split_at_gaps(together.decode("utf-8", "surrogateescape"))
        parts = [part.encode("utf-8", "surrogateescape") for part in characters]
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    starts, is_word = np.cumsum(lengths) - lengths, lengths > 0
    is_word[1::2] = False
    starts = starts[is_word]
    limits = np.cumsum([len(text) + 1 for text in texts], dtype=np.int64)
    row_ends = np.searchsorted(starts, limits)
    before = np.repeat(np.append(0, limits)[: len(texts)], np.diff(row_ends, prepend=0))
    return list(filter(None, parts[::2])), starts - before, row_ends


def code_points(text: bytes) -> tuple[list[int], list[int]]:
    """The code points of a text, and where each begins; the last offset is the end of the text."""
    if text.isascii():
        return list(text), list(range(len(text) + 1))
    characters = decoded(text, "utf-8")
    points = [NOT_A_CHARACTER if point == BROKEN else point for point in characters.points.tolist()]
    return points, [*characters.starts.tolist(), len(text)]


class Additions:
    """What Unicode 16 has and the Unicode of older Pythons lacks (`unicode_16.txt`)."""

    def __init__(self) -> None:
        text = (resources.files(__package__) / "unicode_16.txt").read_text(encoding="ascii")
        self.canonical: dict[int, str] = {}
        self.compatible: dict[int, str] = {}
        self.combining: dict[int, int] = {}
        self.folded: dict[int, str | None] = {}
        self.punctuation: set[int] = set()
        self.marks: dict[str, set[int]] = {"terminal": set(), "close_paren": set(), "open_paren": set()}
        """What ends a sentence, and parentheses, of all of Unicode."""
        firsts, scripts = [], []
        for line in text.splitlines():
            fact, *columns = line.split()
            if fact == "#":
                continue
            point, *numbers = (int(column, 16) for column in columns)
            if fact == "script":
                firsts.append(point)
                scripts.append(numbers[0])
            elif fact == "removed":
                self.folded |= dict.fromkeys(range(point, numbers[0] + 1))
            elif fact in self.marks:
                self.marks[fact].update(range(point, numbers[0] + 1))
            elif fact == "punctuation":
                self.punctuation.add(point)
            elif fact == "combining":
                self.combining[point] = numbers[0]
            else:
                mapping: dict[int, Any] = getattr(self, fact)  # canonical, compatible or folded
                mapping[point] = "".join(map(chr, numbers))
        self.firsts, self.scripts = np.array(firsts), np.array(scripts)
        self.composed: dict[str, str] = {}
        for point, word in sorted(self.canonical.items(), key=lambda item: len(item[1])):
            first = self.composed.get(word[:-1]) or unicodedata.normalize("NFC", word[:-1])
            self.composed[first + word[-1]] = chr(point)
        marked = {*self.canonical, *self.compatible, *self.combining, *(ord(p[-1]) for p in self.composed)}
        self._finds_any = re.compile("[" + "".join(map(chr, sorted(marked))) + "]").search
        near = "".join(chr(point) for point in sorted(marked) if point <= 0xFFFF)
        self._may_have_any = re.compile(f"[{near}\U00010000-\U0010ffff]").search

    def has_any(self, characters: str) -> bool:
        """Whether a text has one that normalizes in another way than Python knows."""
        # the exact class has so many characters beyond U+FFFF that each other character takes long
        return self._may_have_any(characters) is not None and self._finds_any(characters) is not None


@functools.cache
def additions() -> Additions:
    return Additions()


@functools.cache
def is_punctuation(point: int) -> bool:
    """Whether ICU's u_ispunct says so."""
    return point >= 0 and (unicodedata.category(chr(point))[0] == "P" or point in additions().punctuation)


def script_numbers(points: NDArray[Any]) -> NDArray[Any]:
    """A number for the script of each code point."""
    known = additions()
    numbers = known.scripts[np.searchsorted(known.firsts, np.clip(points, 0, 0x10FFFF), "right") - 1]
    return np.where((points < 0) | (points > 0x10FFFF), -1, numbers).astype(np.int64)


def normalized(text: bytes, form: str) -> bytes:
    """The text in a normalization form; ill-formed bytes stay as they are."""
    characters = text.decode("utf-8", "surrogateescape")
    return _normal(characters, form).encode("utf-8", "surrogateescape")


def _normal(characters: str, form: Any) -> str:
    if not additions().has_any(characters):
        return unicodedata.normalize(form, characters)
    if "\0" in characters:  # it never changes, nor what is beside it
        return "\0".join(_normal(part, form) for part in characters.split("\0"))
    known = additions()
    mapped = known.canonical if "K" not in form else known.canonical | known.compatible
    base: Any = "NFKD" if "K" in form else "NFD"
    decomposed = [
        part
        for character in characters
        for part in (mapped.get(ord(character)) or unicodedata.normalize(base, character))
    ]
    classes = [known.combining.get(ord(each)) or unicodedata.combining(each) for each in decomposed]
    ordered: list[tuple[int, str]] = []
    marks: list[tuple[int, str]] = []
    for number, each in zip(classes, decomposed, strict=True):
        if not number:
            ordered += sorted(marks, key=lambda mark: mark[0])
            marks = []
            ordered.append((0, each))
        else:
            marks.append((number, each))
    ordered += sorted(marks, key=lambda mark: mark[0])
    if form.endswith("D"):
        return "".join(each for _, each in ordered)
    return _composed(ordered)


def normalized_parts(text: bytes, form: str) -> list[tuple[bytes, bytes]]:
    """The parts of a text that are normalized independently of each other, before and after."""
    characters = text.decode("utf-8", "surrogateescape")
    starts = [at for at, each in enumerate(characters) if not at or _begins_part(each, form)]
    parts = [characters[a:b] for a, b in pairwise([*starts, len(characters)])]
    pairs = ((part, _normal(part, form)) for part in parts)
    return [
        (old.encode("utf-8", "surrogateescape"), new.encode("utf-8", "surrogateescape")) for old, new in pairs
    ]


@functools.lru_cache(100_000)
def _begins_part(character: str, form: str) -> bool:
    """Whether what is before a character does not change with it: no mark, and nothing that composes."""
    first = _normal(character, "NFKD" if "K" in form else "NFD")[:1] or character
    known = additions()
    if known.combining.get(ord(first)) or unicodedata.combining(first):
        return False
    return form.endswith("D") or not _composes_backwards(first)


def _composes_backwards(character: str) -> bool:
    point = ord(character)
    is_jamo = 0x1161 <= point <= 0x1175 or 0x11A8 <= point <= 0x11C2
    return is_jamo or character in _second_starters()


@functools.cache
def _second_starters() -> frozenset[str]:
    """Characters that are no marks, and the second ones of a composition."""
    words = (unicodedata.decomposition(chr(point)) for point in range(0x30000))
    pairs = (word.split() for word in words if word and not word.startswith("<"))
    seconds = {chr(int(pair[1], 16)) for pair in pairs if len(pair) == 2}
    seconds |= {pair[1] for pair in additions().composed if len(pair) == 2}
    return frozenset(each for each in seconds if not unicodedata.combining(each))


def _composed(ordered: list[tuple[int, str]]) -> str:
    """Characters composed with the marks that follow them, as Unicode says."""
    out: list[str] = []
    starter, last = -1, -1
    for number, each in ordered:
        if (starter >= 0 and last < number) or (starter >= 0 and starter == len(out) - 1):
            pair = out[starter] + each
            whole = additions().composed.get(pair) or unicodedata.normalize("NFC", pair)
            if len(whole) == 1:
                out[starter] = whole
                continue
        if not number:
            starter, last = len(out), -1
        else:
            last = number
        out.append(each)
    return "".join(out)


class _Folding(dict[int, Any]):
    """The NFKC case folding of characters, as a table for `str.translate`."""

    def __missing__(self, point: int) -> Any:
        known = additions()
        if point in known.folded:
            out: Any = known.folded[point]
        else:
            character = chr(point)
            word = _normal(_normal(_normal(character, "NFD"), "NFKC").casefold(), "NFKC")
            out = point if word == character else word
        self[point] = out
        return out


_folding = _Folding()


def folded(text: bytes) -> bytes:
    """The text with its case folded, in form NFKC; ill-formed bytes stay as they are."""
    characters = text.lower().decode("utf-8", "surrogateescape")
    return _normal(beyond_ascii(_folded, characters), "NFC").encode("utf-8", "surrogateescape")


beyond_ascii = re.compile("[^\0-\x7f]+").sub


def _folded(match: re.Match[str]) -> str:
    return match[0].translate(_folding)


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
