"""RegexFullMatch, RegexReplace and their static versions; RE2 matches, as in TensorFlow."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import (
    ByteChange,
    attr_bytes,
    map_strings,
    printable,
    replaced_bytes,
    scalar_value,
)

_ESCAPE = re.compile(rb"\\(.?)", re.DOTALL)
_CHARACTER = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
).match
"""One character of UTF-8."""
_PLAIN_TEXT = re.compile(rb"(?:[A-Za-z0-9 \t\n_\-<>=,;:!@#%&\"'`~/]|\\[!-/:-@\[-`{-~])+").fullmatch
"""A pattern that matches itself only."""
_ASCII = bytes(range(128))
_REGION = 4096
"""Code points about which RE2 is asked together."""
_AT_BOTH_ENDS = re.compile(rb"\^(\\s|[^\\^$.|?*+(){}\[\]\x80-\xff])\+\|(\1)\+\$").fullmatch
"""Repetitions of one ASCII character, or of whitespace, at the start and the end: `^ +| +$`."""
_NO_CHARACTER = re.compile(rb"[|^$]+").fullmatch
"""A pattern that matches only empty strings."""
_ASCII_CHARACTERS = re.compile(
    rb"[A-Za-z0-9 \t\n_\-<>=,;:!@#%&\"'`~/]|\\[!-/:-@\[-`{-~]"
    rb"|\[(?!\^|\])(?:[^\\\[\]\x80-\xff]|\\[!-/:-@\[-`{-~])+\]"
).fullmatch
"""A pattern of one ASCII character: `a`, `\\?`, or one of several, as `[a-z!\\?]`."""
_ONE_CHARACTER = re.compile(rb"\[\^?(?!\])(?:[^\\\[\]\x80-\xff]|\\[!-/:-@\[-`{-~dswDSW])+\]").fullmatch
"""A pattern of one character, maybe not of ASCII: `[^a-z]`, `[\\W_]`."""
_ATOM = re.compile(
    rb"\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|\\[pP](?:\{\^?\w+\}|\w)|\\x\{[0-9A-Fa-f]+\}"
    rb"|\\[dswDSWnrtfv]|\\[!-/:-@\[-`{-~]|[^\\^$*+?()\[\]{}|\x80-\xff]"
)
"""What matches one character, and only by looking at it."""
_ALTERNATIVE = re.compile(
    rb"(?P<one>%b)(?P<more>\+?)(?=\||$)|(?P<several>(?:%b)+)(?=\||$)" % (_ATOM.pattern, _ATOM.pattern)
)


@functools.lru_cache(256)
def compiled_regex(pattern: bytes) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise RunFailed(f"invalid regular expression `{printable(pattern)}`: {error}") from None


@functools.lru_cache(256)
def ascii_regex(pattern: bytes) -> Any:
    """What matches the same in ASCII texts as RE2, and faster: Python's own regular expression, or none.

    Only for alternatives such as `\\s+|[\\p{P}]`, maybe in one group, for which Python needs linear time.
    """
    return None if _alternatives(pattern) is None else text_regex(pattern).in_ascii


class TextRegex:
    """A pattern with an `ascii_regex` as Python's regular expressions of ASCII texts, and of all others.

    RE2 says which characters the atoms of the pattern match: all of a region when a text first has one of it.
    """

    def __init__(self, pattern: bytes, divider: bytes = b"") -> None:
        """`divider`: a character that matches, too."""
        alternatives = _alternatives(pattern)
        assert alternatives is not None
        self._alternatives = [*alternatives, ([re.escape(divider)], "")] if divider else alternatives
        self._is_grouped = _ungrouped(pattern) is not pattern
        atoms = {atom for atoms, _ in self._alternatives for atom in atoms}
        self._matched = {atom: _matched_points(atom, _ASCII) for atom in atoms}
        self.in_ascii = re.compile(self._written().encode())
        self._known: set[int] = set()
        """The regions that RE2 was asked about."""
        self._lock = threading.Lock()
        self._in_known: Any = None
        """The expression for texts of these, and what finds a character of another one."""
        self._find_other: Any = re.compile("").search

    def may_match(self, character: bytes) -> bool:
        """Whether an atom matches this character of ASCII."""
        return any(character[0] in points for points in self._matched.values())

    def in_text(self, characters: str) -> Any:
        """The expression for this text."""
        if self._find_other(characters) is not None:
            with self._lock:
                if regions := {ord(character) // _REGION for character in {*characters, "a"}} - self._known:
                    self._learn(regions)
        return self._in_known

    def _learn(self, regions: set[int]) -> None:
        """Ask RE2 about the characters of more regions."""
        for region in regions:
            points = range(region * _REGION, (region + 1) * _REGION)
            text = "".join(map(chr, points)).encode(errors="ignore")
            for atom, before in self._matched.items():
                self._matched[atom] = np.union1d(before, _matched_points(atom, text))
        self._known |= regions
        self._in_known = re.compile(self._written())
        known = (f"{chr(each * _REGION)}-{chr((each + 1) * _REGION - 1)}" for each in self._known)
        self._find_other = re.compile(f"[^{''.join(known)}]").search

    def _written(self) -> str:
        """Python's expression, where each atom matches the characters that are known."""
        matched = [([self._matched[atom] for atom in atoms], more) for atoms, more in self._alternatives]
        possible = [(classes, more) for classes, more in matched if all(map(len, classes))]
        if all(len(classes) == 1 for classes, _ in possible):
            expression = _by_first_character([(points, more) for (points,), more in possible])
        else:
            expression = "|".join("".join(map(_class_of, classes)) + more for classes, more in possible)
        return f"({expression})" if self._is_grouped else expression


def _matched_points(atom: bytes, text: bytes) -> Any:
    """The code points of a text, in ascending order, that match."""
    characters = b"".join(compiled_regex(atom).findall(text)).decode()
    return np.frombuffer(characters.encode("utf-32-le"), np.uint32)


def _by_first_character(alternatives: list[tuple[Any, str]]) -> str:
    """Alternatives that are one character each, or one with a `+`: the first one decides which.

    An expression that begins with one class is the one for which Python looks fastest.
    """
    first: Any = np.zeros(0, np.uint32)
    repeated = []
    for points, more in alternatives:
        own = np.setdiff1d(points, first)
        if more and len(own):
            repeated.append(f"(?<={_class_of(own)}){_class_of(points)}*")
        first = np.union1d(first, points)
    if not len(first):
        return "(?!)"
    return _class_of(first) + (f"(?:{'|'.join(repeated)}|)" if repeated else "")


def _class_of(points: Any) -> str:
    breaks = np.flatnonzero(np.diff(points) != 1)
    firsts, lasts = points[np.append(0, breaks + 1)], points[np.append(breaks, len(points) - 1)]
    pairs = zip(map(_escaped, firsts.tolist()), map(_escaped, lasts.tolist()), strict=True)
    return "[" + "".join(first if first == last else f"{first}-{last}" for first, last in pairs) + "]"


def _escaped(point: int) -> str:
    return rf"\x{point:02x}" if point < 0x80 else chr(point)


@functools.lru_cache(256)
def text_regex(pattern: bytes, divider: bytes = b"") -> TextRegex:
    return TextRegex(pattern, divider)


def split_texts(pattern: bytes, texts: list[bytes], divider: bytes = b"\0") -> list[list[bytes]]:
    """The parts of each text, as RE2 splits it, by a pattern in one group that has an `ascii_regex`.

    No text has the divider. All texts are split together, unless the pattern may match it.
    """
    if len(texts) > 1 and not text_regex(pattern).may_match(divider):
        try:
            parts = _split_text(text_regex(pattern, divider), divider.join(texts))
        except UnicodeDecodeError:
            pass
        else:
            ends = [2 * at + 1 for at, part in enumerate(parts[1::2]) if part == divider]
            starts = [0, *(end + 1 for end in ends)]
            return [parts[start:end] for start, end in zip(starts, [*ends, len(parts)], strict=True)]
    return [_split_one(pattern, text) for text in texts]


def _split_one(pattern: bytes, text: bytes) -> list[bytes]:
    try:
        return _split_text(text_regex(pattern), text)
    except UnicodeDecodeError:
        return list(compiled_regex(pattern).split(text))


def _split_text(regex: TextRegex, text: bytes) -> list[bytes]:
    if text.isascii():
        return list(regex.in_ascii.split(text))
    characters = text.decode()
    return list(map(str.encode, regex.in_text(characters).split(characters)))


Alternative = tuple[list[bytes], str]
"""Atoms one after the other, and `+` or nothing."""


def _alternatives(pattern: bytes) -> list[Alternative] | None:
    """What a pattern of simple alternatives consists of; none if it is of another form."""
    inner = _ungrouped(pattern)
    alternatives: list[Alternative] = []
    at = 0
    while at <= len(inner):
        if (match := _ALTERNATIVE.match(inner, at)) is None:
            return None
        atoms = [match["one"]] if match["one"] else _ATOM.findall(match["several"])
        alternatives.append((atoms, (match["more"] or b"").decode()))
        at = match.end() + 1
    return alternatives


def _ungrouped(pattern: bytes) -> bytes:
    return pattern[1:-1] if pattern[:1] == b"(" and pattern[-1:] == b")" else pattern


@host("RegexFullMatch")
def regex_full_match(input, pattern):
    return _matches(input, scalar_value(pattern, "pattern"))


@host("StaticRegexFullMatch")
def static_regex_full_match(input, *, pattern):
    return _matches(input, attr_bytes(pattern))


def _matches(input: Any, pattern: bytes) -> Any:
    match, texts = compiled_regex(pattern).fullmatch, input.reshape(-1).tolist()
    if len(texts) < FEW:
        flat = [match(text) is not None for text in texts]
    else:
        matches = {text: match(text) is not None for text in {*texts}}
        flat = [matches[text] for text in texts]
    return np.array(flat, bool).reshape(input.shape)


@host("RegexReplace")
def regex_replace(input, pattern, rewrite, *, replace_global):
    return _replaced(
        input, scalar_value(pattern, "pattern"), scalar_value(rewrite, "rewrite"), replace_global
    )


@host("StaticRegexReplace")
def static_regex_replace(input, *, pattern, rewrite, replace_global):
    return _replaced(input, attr_bytes(pattern), attr_bytes(rewrite), replace_global)


def _replaced(input: Any, pattern: bytes, rewrite: bytes, everywhere: bool) -> Any:
    return map_strings(input, replacement(pattern, rewrite, everywhere))


FEW = 16
"""From as many strings on, each different one is matched only once."""
LONG = 2**16
"""Bytes that a string may become before its size is computed first."""


@functools.lru_cache(256)
def replacement(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    """What RegexReplace does with one string; it counts what the run uses if strings may become longer."""
    change = _replacement(pattern, rewrite, everywhere)
    if len(rewrite) <= 1:
        return change
    compiled, most = compiled_regex(pattern), LONG // (1 + len(rewrite))
    pieces, _ = _rewrite(rewrite)
    pieces = [piece for piece in pieces if isinstance(piece, bytes) or piece <= compiled.groups]

    def counted(text: bytes) -> bytes:
        if len(text) < most or not everywhere:
            result = change(text)
            reserve_memory(len(result))
            return result
        growth = (len(_expanded(match, pieces)) - len(match.group()) for match in compiled.finditer(text))
        reserve_memory(len(text) + sum(growth))
        return change(text)

    return counted


def _replacement(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    plain = plain_replacement(pattern, rewrite) if everywhere else None
    if plain is not None:
        return plain
    compiled = compiled_regex(pattern)
    pieces, valid = _rewrite(rewrite)
    # an invalid rewrite replaces nothing here; with replace_global its valid start is used
    if any(piece > compiled.groups for piece in pieces if isinstance(piece, int)) or not (
        valid or everywhere
    ):
        return lambda text: text
    search = compiled.search
    if not everywhere:
        return lambda text: _first_replaced(search, text, pieces)
    if _alternatives(pattern) is not None and b"\\" not in rewrite:
        return _quick_replacement(pattern, rewrite, lambda text: _all_replaced(search, text, pieces))
    if (in_ascii := ascii_regex(pattern)) is not None:
        search_ascii = in_ascii.search
        return lambda text: _all_replaced(search_ascii if text.isascii() else search, text, pieces)
    return lambda text: _all_replaced(search, text, pieces)


def _quick_replacement(
    pattern: bytes, rewrite: bytes, otherwise: Callable[[bytes], bytes]
) -> Callable[[bytes], bytes]:
    """The same by the `ascii_regex` of a pattern, for a plain rewrite; `otherwise`: for ill-formed texts."""
    regex, is_byte = text_regex(pattern), _ONE_CHARACTER(pattern) and len(rewrite) <= 1
    in_ascii = _replaced_characters(pattern, rewrite) if is_byte else partial(regex.in_ascii.sub, rewrite)
    try:
        written = rewrite.decode()
    except UnicodeDecodeError:
        return otherwise

    def change(text: bytes) -> bytes:
        if text.isascii():
            return in_ascii(text)
        try:
            characters = text.decode()
        except UnicodeDecodeError:
            return otherwise(text)
        return regex.in_text(characters).sub(written, characters).encode()  # type: ignore[no-any-return]

    return change


@functools.lru_cache(256)
def plain_replacement(pattern: bytes, rewrite: bytes) -> Callable[[bytes], bytes] | None:
    """The same replacement by methods of bytes: of a plain text, single ASCII characters, or none."""
    if b"\\" in rewrite:
        return None
    if not rewrite and _NO_CHARACTER(pattern):
        return bytes
    if len(rewrite) <= 1 and _ASCII_CHARACTERS(pattern):
        return _replaced_characters(pattern, rewrite)
    if not rewrite and (ends := _AT_BOTH_ENDS(pattern)):
        stripped = b"".join(compiled_regex(ends[1]).findall(_ASCII))
        return lambda text: text.strip(stripped)
    plain = pattern.replace(b"\\", b"")
    return (lambda text: text.replace(plain, rewrite)) if _PLAIN_TEXT(pattern) else None


def _replaced_characters(pattern: bytes, rewrite: bytes) -> ByteChange:
    """The replacement of the ASCII characters that a pattern matches."""
    matches = compiled_regex(pattern).fullmatch
    return replaced_bytes(bytes(code for code in range(128) if matches(bytes([code])) is not None), rewrite)


@functools.lru_cache(256)
def _rewrite(rewrite: bytes) -> tuple[list[bytes | int], bool]:
    r"""The text and group numbers of a rewrite, and whether each `\` starts one of `\\`, `\0` … `\9`."""
    pieces: list[bytes | int] = []
    position = 0
    for escape in _ESCAPE.finditer(rewrite):
        pieces.append(rewrite[position : escape.start()])
        position = escape.end()
        if escape[1].isdigit():
            pieces.append(int(escape[1]))
        elif escape[1] == b"\\":
            pieces.append(b"\\")
        else:
            return pieces, False
    return [*pieces, rewrite[position:]], True


def _expanded(match: Any, pieces: list[bytes | int]) -> bytes:
    return b"".join(piece if isinstance(piece, bytes) else match.group(piece) or b"" for piece in pieces)


def _first_replaced(search: Any, text: bytes, pieces: list[bytes | int]) -> bytes:
    match = search(text)
    return text if match is None else text[: match.start()] + _expanded(match, pieces) + text[match.end() :]


def _all_replaced(search: Any, text: bytes, pieces: list[bytes | int]) -> bytes:
    """Like RE2's GlobalReplace: no empty match where the last one ended."""
    if (match := search(text)) is None:
        return text
    out: list[bytes] = []
    position, last = 0, -1
    while match is not None:
        start, end = match.span()
        out.append(text[position:start])
        if start == end == last:
            character = _CHARACTER(text, start)
            position = character.end() if character else start + 1
            out.append(text[start:position])
        else:
            out.append(_expanded(match, pieces))
            position = last = end
        match = search(text, position) if position <= len(text) else None
    return b"".join((*out, text[position:]))
