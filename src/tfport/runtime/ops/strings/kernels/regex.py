"""RegexFullMatch, RegexReplace and their static versions; RE2 matches, as in TensorFlow."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable
from itertools import compress, groupby
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
_PLAIN_TEXT = re.compile(rb"[A-Za-z0-9 \t\n_\-<>=,;:!@#%&\"'`~/]+").fullmatch
"""A pattern that matches itself only."""
_ASCII = bytes(range(128))
_FIRST_KIND = 0xE000
"""Characters for private use stand for kinds of characters; those of texts have kinds themselves."""
_MOST_KNOWN = 50_000
"""Characters whose kinds are kept."""
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


Alternative = tuple[list[bytes], str]
"""Atoms one after the other, and `+` or nothing."""


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
    alternatives = _alternatives(pattern)
    if alternatives is None:
        return None
    return re.compile(_written(pattern, alternatives, _ascii_members(alternatives)).encode())


def _ascii_members(alternatives: list[Alternative]) -> dict[bytes, str]:
    """The characters of ASCII that each atom matches."""
    atoms = dict.fromkeys(atom for atoms, _ in alternatives for atom in atoms)
    return {atom: b"".join(compiled_regex(atom).findall(_ASCII)).decode() for atom in atoms}


class CharacterKinds(dict[int, int]):
    """Kinds of characters: those that the same atoms of a pattern match are alike.

    Each kind beyond ASCII has a character of its own, by which `regex` knows it.
    """

    def __init__(self, pattern: bytes) -> None:
        super().__init__(zip(range(128), range(128), strict=True))
        self._pattern, self._alternatives = pattern, _alternatives(pattern) or []
        self._members = _ascii_members(self._alternatives)
        self._kinds: dict[tuple[bool, ...], int] = {}
        """By which atoms match it."""
        self._lock = threading.Lock()
        self.regex: Any = None

    def __missing__(self, point: int) -> int:
        """The kind of a character that comes for the first time."""
        character = chr(point).encode()
        matched = tuple(compiled_regex(atom).fullmatch(character) is not None for atom in self._members)
        with self._lock:
            if matched not in self._kinds:
                self._kinds[matched] = _FIRST_KIND + len(self._kinds)
                for atom in [*compress(self._members, matched)]:
                    self._members[atom] += chr(self._kinds[matched])
                self.regex = re.compile(_written(self._pattern, self._alternatives, self._members))
            self[point] = self._kinds[matched]
        return self[point]


class TextSplitter:
    """Splits texts as RE2 does, and faster, by patterns in one group that have an `ascii_regex`."""

    def __init__(self, pattern: bytes) -> None:
        self._pattern = pattern
        self._in_bytes, self._in_ascii = compiled_regex(pattern), ascii_regex(pattern)
        self._kinds = CharacterKinds(pattern)

    def split(self, text: bytes) -> list[bytes]:
        if text.isascii():
            return list(self._in_ascii.split(text))
        try:
            characters = text.decode()
        except UnicodeDecodeError:
            return list(self._in_bytes.split(text))
        if len(self._kinds) > _MOST_KNOWN:
            self._kinds = CharacterKinds(self._pattern)
        kinds = self._kinds
        parts, at = [], 0
        written = characters.translate(kinds)
        for part in kinds.regex.split(written):
            parts.append(characters[at : at + len(part)].encode())
            at += len(part)
        return parts


@functools.lru_cache(64)
def text_splitter(pattern: bytes) -> TextSplitter:
    return TextSplitter(pattern)


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


def _written(pattern: bytes, alternatives: list[Alternative], members: dict[bytes, str]) -> str:
    """Python's expression, where each atom matches these characters."""
    possible = [(atoms, more) for atoms, more in alternatives if all(members[atom] for atom in atoms)]
    written = []
    for is_single, group in groupby(possible, lambda each: len(each[0]) == 1 and not each[1]):
        if is_single:
            written.append(_class_of("".join(members[atom] for (atom,), _ in group)))
        else:
            written += ["".join(_class_of(members[atom]) for atom in atoms) + more for atoms, more in group]
    expression = "|".join(written) or "(?!)"
    return expression if _ungrouped(pattern) is pattern else f"({expression})"


def _class_of(members: str) -> str:
    written = [rf"\x{ord(member):02x}" if member.isascii() else member for member in members]
    return f"[{''.join(written)}]"


@host("RegexFullMatch")
def regex_full_match(input, pattern):
    return _matches(input, scalar_value(pattern, "pattern"))


@host("StaticRegexFullMatch")
def static_regex_full_match(input, *, pattern):
    return _matches(input, attr_bytes(pattern))


def _matches(input: Any, pattern: bytes) -> Any:
    match = compiled_regex(pattern).fullmatch
    flat = [match(text) is not None for text in input.reshape(-1).tolist()]
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
    if _ONE_CHARACTER(pattern) and len(rewrite) <= 1 and rewrite != b"\\":
        quick = _replaced_characters(pattern, rewrite)
        return lambda text: quick(text) if text.isascii() else _all_replaced(search, text, pieces)
    if (in_ascii := ascii_regex(pattern)) is not None:
        search_ascii = in_ascii.search
        return lambda text: _all_replaced(search_ascii if text.isascii() else search, text, pieces)
    return lambda text: _all_replaced(search, text, pieces)


@functools.lru_cache(256)
def plain_replacement(pattern: bytes, rewrite: bytes) -> Callable[[bytes], bytes] | None:
    """The same replacement by methods of bytes: of a plain text, single ASCII characters, or none."""
    if b"\\" in rewrite:
        return None
    if not rewrite and _NO_CHARACTER(pattern):
        return bytes
    if len(rewrite) <= 1 and _ASCII_CHARACTERS(pattern):
        return _replaced_characters(pattern, rewrite)
    return (lambda text: text.replace(pattern, rewrite)) if _PLAIN_TEXT(pattern) else None


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
