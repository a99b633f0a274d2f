"""SentenceFragments and SentenceFragmentsV2: parts of texts that may end a sentence.

A fragment ends with terminal punctuation and what closes it. The first op gets the tokens of a text, the
second one the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.kernels.unicode import BROKEN, decoded, is_supported
from tfport.runtime.ops.text.characters import WHITESPACE, additions, is_punctuation

_TERMINAL, _MULTIPLE, _CLOSE_PAREN, _SENTENTIAL = 1, 2, 4, 8
"""Properties of a fragment."""
_EMOTICON, _ACRONYM = 0x80, 0x100
"""Properties of a token."""
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_MORE_PUNCTUATION = frozenset("`<>~\N{CANADIAN SYLLABICS FULL STOP}")
_EMOTICONS = r"""
:(:) :) :( :o) :] :3 :> =] =) :} :^) :-D :-))))) :-)))) :-))) :-)) :-) >:[ :-( :-c :c :-< :< :-[ :[
:{ ;( :-|| :@ >:( :'-( :'( :'-) :') D:< >:O :-O :-o :* :-* :^* ;-) ;) *-) *) ;-] ;] ;^) :-, >:P :-P
:p =p :-p :P =P ;p ;-p B-) =| -_- o_o; u_u :-\ :s :S :-s :-S ;* ;-*=( >.< >:-( >=( ;_; T_T ='( >_<
D: :o =o o.o :O =O O.O x_x X-( X( X-o X-O :X) (=^.^=) (=^..^=) =^_^= -<@% :(|) (]:{ <\3 ~@~ 8'( XD
DX
"""


Fragment = tuple[int, int, int, int]
"""Start, limit, properties, and where the terminal punctuation is."""


class FragmentPart(NamedTuple):
    """A token, or what is at a byte of a text."""

    after: int
    """Where the next part begins."""
    terminal: bool
    ellipsis: bool
    emoticon: bool
    close_paren: bool


def _boundary(first: int, size: int, part_at: Callable[[int], FragmentPart]) -> tuple[int, int]:
    """Where what closes the terminal punctuation at `first` begins, and the limit of the fragment."""
    at = close = part_at(first).after
    closing = False
    while at < size:
        part = part_at(at)
        if not closing and (part.terminal or part.emoticon):
            close = part.after
        elif not closing and part.close_paren:
            closing = True
        elif not closing or not (part.close_paren or part.ellipsis or part.emoticon):
            break
        at = part.after
    return close, at


def _outputs(rows: list[list[Fragment]]) -> tuple[Any, ...]:
    columns = np.array([fragment for row in rows for fragment in row], np.int64).reshape(-1, 4)
    return (*np.ascontiguousarray(columns.T), np.array([len(row) for row in rows], np.int64))


# By tokens


@host("SentenceFragments")
def sentence_fragments(
    row_lengths, token_start, token_end, token_word, token_properties,
    *, input_encoding, errors, replacement_char, replace_control_characters,
):  # fmt: skip
    if not is_supported(input_encoding):
        raise RunFailed(f"unsupported input_encoding `{input_encoding}`")
    if not len(token_start) == len(token_end) == len(token_word) == int(row_lengths.sum()):
        raise RunFailed(
            f"expected {int(row_lengths.sum())} tokens, found {len(token_start)} starts, "
            f"{len(token_end)} ends and {len(token_word)} words"
        )
    words = token_word.tolist()
    known = {word: Mark.of_word(word, input_encoding) for word in dict.fromkeys(words)}
    tokens = [
        _Token(word, known[word], properties)
        for word, properties in zip(words, token_properties.tolist(), strict=False)
    ]
    rows, at = [], 0
    for length in row_lengths.tolist():
        rows.append(list(_fragments_of_tokens(tokens[at : at + length])))
        at += length
    return _outputs(rows)


class Mark(NamedTuple):
    """What the word of a token is."""

    terminal: bool = False
    ellipsis: bool = False
    close_paren: bool = False
    open_paren: bool = False
    punctuation: bool = False

    @classmethod
    def of_word(cls, word: bytes, encoding: str) -> Mark:
        points = decoded(word, encoding).points.tolist()
        if not points:
            raise RunFailed("a token must not be empty")
        if word == b"...":
            return cls(terminal=True, ellipsis=True)
        return cls.of_point(points[0]) if len(points) == 1 and points[0] != BROKEN else cls()

    @classmethod
    def of_point(cls, point: int) -> Mark:
        known, character = additions().marks, chr(point)
        return cls(
            point in known["terminal"],
            character == _ELLIPSIS,
            point in known["close_paren"],
            point in known["open_paren"],
            # dashes count too, but end no sentence
            is_punctuation(point) or character in _MORE_PUNCTUATION,
        )


class _Token(NamedTuple):
    word: bytes
    mark: Mark
    properties: int

    @property
    def is_emoticon(self) -> bool:
        return bool(self.properties & _EMOTICON)

    @property
    def is_ambiguous(self) -> bool:
        return self.mark.ellipsis or self.is_emoticon

    @property
    def begins(self) -> bool:
        """Whether it may be the end of a sentence."""
        is_acronym = self.properties & _ACRONYM and self.word.endswith(b".")
        return self.mark.terminal or self.is_emoticon or bool(is_acronym)


def _fragments_of_tokens(tokens: list[_Token]) -> Iterator[Fragment]:
    def part_at(at: int) -> FragmentPart:
        mark = tokens[at].mark
        return FragmentPart(at + 1, mark.terminal, mark.ellipsis, tokens[at].is_emoticon, mark.close_paren)

    start, sentential = 0, False
    while start < len(tokens):
        first = next((at for at in range(start, len(tokens)) if tokens[at].begins), -1)
        close, limit = _boundary(first, len(tokens), part_at) if first >= 0 else (-1, len(tokens))
        opening = [at for at in range(start, limit) if tokens[at].mark.open_paren]
        sentential = opening[-1] == start if opening else sentential
        properties = terminal = 0
        if first >= 0:
            properties = _TERMINAL
            if any(t.mark.punctuation and not t.is_ambiguous for t in tokens[first + 1 : close]):
                properties |= _MULTIPLE
            if any(token.mark.close_paren for token in tokens[close:limit]):
                properties |= _CLOSE_PAREN | (_SENTENTIAL if sentential else 0)
            terminal = first
            for at in range(close - 1, first - 1, -1):
                # ambiguous punctuation before other punctuation is part of the sentence
                if tokens[at].is_ambiguous:
                    terminal = first if at == close - 1 else at + 1
                    break
        yield start, limit, properties, terminal if first >= 0 else -1
        start = limit


# By characters


@host("SentenceFragmentsV2")
def sentence_fragments_v2(doc):
    if doc.ndim != 1:
        raise RunFailed(f"doc must be a vector, found shape {list(doc.shape)}")
    return _outputs([list(_fragments(text)) for text in doc.tolist()])


Matcher = Callable[[bytes, int], Any]


class _Patterns(NamedTuple):
    """Regular expressions for what may be at a byte of a text; ill-formed bytes are nothing."""

    begins: Matcher
    terminal: Matcher
    ellipsis: Matcher
    close_paren: Matcher
    punctuation: Matcher
    acronym: Matcher
    emoticon: Matcher
    space: Matcher


@cache
def _patterns() -> _Patterns:
    known = additions().marks
    terminal = rb"\.\.\.|" + _any_of(known["terminal"])
    emoticon = b"|".join(re.escape(each.encode()) for each in _EMOTICONS.split())
    acronym = rb"(?:[A-Z]\.){2,}"
    return _Patterns(
        re.compile(b"|".join((terminal, acronym, emoticon))).search,
        re.compile(terminal).match,
        re.compile(rb"\.\.\.|" + _ELLIPSIS.encode()).match,
        re.compile(_any_of(known["close_paren"])).match,
        re.compile(_any_of(p for p in known["terminal"] if Mark.of_point(p).punctuation)).match,
        re.compile(acronym).match,
        re.compile(emoticon).match,
        re.compile(_any_of(map(ord, WHITESPACE))).match,
    )


def _any_of(points: Iterable[int]) -> bytes:
    return b"|".join(re.escape(chr(point).encode()) for point in sorted(points))


def _fragments(text: bytes) -> Iterator[Fragment]:
    patterns = _patterns()

    def part_at(at: int) -> FragmentPart:
        terminal, ellipsis = patterns.terminal(text, at), patterns.ellipsis(text, at)
        close_paren, emoticon = patterns.close_paren(text, at), patterns.emoticon(text, at)
        last = emoticon or patterns.acronym(text, at) or close_paren or terminal
        return FragmentPart(
            last.end() if last else at + 1,
            terminal is not None,
            ellipsis is not None,
            emoticon is not None,
            close_paren is not None,
        )

    start = 0
    while start < len(text):
        if patterns.space(text, start):
            start += 1  # also of a space of several bytes, as in TensorFlow Text
            continue
        begin = patterns.begins(text, start)
        if begin is None:
            yield start, len(text), 0, -1
            return
        first = begin.start()
        close, limit = _boundary(first, len(text), part_at)
        properties = _TERMINAL
        if _has_second_mark(text, first, close, patterns):
            properties |= _MULTIPLE
        # TensorFlow Text never finds that a parenthesis begins its fragment
        if any(patterns.close_paren(text, at) for at in range(close, limit)):
            properties |= _CLOSE_PAREN
        yield start, limit, properties, _unambiguous(text, first, close, patterns)
        start = limit


def _unambiguous(text: bytes, first: int, close: int, patterns: _Patterns) -> int:
    """The terminal punctuation behind an ellipsis, which then is part of the sentence."""
    for at in range(close, first, -1):
        if patterns.ellipsis(text, at) or patterns.emoticon(text, at):
            return first if at == close else at
    return first


def _has_second_mark(text: bytes, first: int, close: int, patterns: _Patterns) -> bool:
    """Whether unambiguous punctuation follows the first mark."""
    at = first
    while at < close:
        ambiguous = patterns.ellipsis(text, at) or patterns.emoticon(text, at)
        if at > first and not ambiguous and patterns.punctuation(text, at):
            return True
        at = ambiguous.end() if ambiguous else at + 1
    return False
