"""RegexFullMatch, RegexReplace and their static versions; RE2 matches, as in TensorFlow."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import attr_bytes, map_strings, printable, scalar_value

_ESCAPE = re.compile(rb"\\(.?)", re.DOTALL)
_CHARACTER = re.compile(
    rb"[\x00-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xef][\x80-\xbf]{2}"
    rb"|\xf0[\x90-\xbf][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
).match
"""One character of UTF-8."""
_PLAIN_TEXT = re.compile(rb"[A-Za-z0-9 \t\n_\-<>=,;:!@#%&\"'`~/]+").fullmatch
"""A pattern that matches itself only."""
_ASCII_SET = re.compile(rb"\[(?!\^|\])(?:[^\\\[\]\x80-\xff]|\\[!-/:-@\[-`{-~])+\]").fullmatch
"""A pattern like `[a-z!\\?]`: one of some ASCII characters."""


@functools.lru_cache(256)
def compiled_regex(pattern: bytes) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise RunFailed(f"invalid regular expression `{printable(pattern)}`: {error}") from None


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
    plain = plain_replacement(pattern, rewrite) if everywhere else None
    if plain is not None:
        return map_strings(input, plain)
    compiled = compiled_regex(pattern)
    pieces, valid = _rewrite(rewrite)
    if any(piece > compiled.groups for piece in pieces if isinstance(piece, int)):
        return input
    if everywhere:
        return map_strings(input, lambda text: _all_replaced(compiled.search, text, pieces))
    # an invalid rewrite replaces nothing here; with replace_global its valid start is used
    return map_strings(input, lambda text: _first_replaced(compiled.search, text, pieces)) if valid else input


@functools.lru_cache(256)
def plain_replacement(pattern: bytes, rewrite: bytes) -> Callable[[bytes], bytes] | None:
    """The same replacement by methods of bytes: of a plain text, or of single ASCII characters."""
    if b"\\" in rewrite:
        return None
    if _PLAIN_TEXT(pattern):
        return lambda text: text.replace(pattern, rewrite)
    if not _ASCII_SET(pattern) or len(rewrite) > 1:
        return None
    matches = compiled_regex(pattern).fullmatch
    replaced = bytes(code for code in range(128) if matches(bytes([code])) is not None)
    if not rewrite:
        return lambda text: text.translate(None, replaced)
    table = bytes.maketrans(replaced, rewrite * len(replaced))
    return lambda text: text.translate(table)


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
    out: list[bytes] = []
    position, last = 0, -1
    while position <= len(text):
        match = search(text, position)
        if match is None:
            break
        start, end = match.span()
        out.append(text[position:start])
        if start == end == last:
            character = _CHARACTER(text, start)
            position = character.end() if character else start + 1
            out.append(text[start:position])
            continue
        out.append(_expanded(match, pieces))
        position = last = end
    return b"".join((*out, text[position:]))
