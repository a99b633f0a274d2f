"""Texts and code points split at whitespace, at delimiters, and where the script changes."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from itertools import chain, compress, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import printable, scalar_value
from tfport.runtime.ops.strings.kernels.regex import ascii_regex, compiled_regex, split_texts
from tfport.runtime.ops.text.characters import NOT_A_CHARACTER, WHITESPACE, code_points, script_numbers

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WHITESPACE = np.array([ord(character) for character in WHITESPACE])
_LOOKS_BACK = re.compile(rb"\^|\\[AbB]").search
"""A pattern that depends on what comes before: RE2 is asked about the rest of a text, where nothing does."""


@host("TFText>WhitespaceTokenizeWithOffsetsV2")
def whitespace_tokenize_v2(input_values, input_config):
    if input_values.ndim != 1:
        raise RunFailed(f"input_values must be a vector, found shape {list(input_values.shape)}")
    config = scalar_value(input_config, "input_config")
    rows = [whitespace_words(text, config) for text in input_values.tolist()]
    words = list(chain.from_iterable(rows))
    return (
        string_array([word for word, _, _ in words]),
        np.cumsum([0, *map(len, rows)]),
        np.array([start for _, start, _ in words], np.int32),
        np.array([end for _, _, end in words], np.int32),
    )


def whitespace_words(text: bytes, config: bytes) -> list[tuple[bytes, int, int]]:
    """The words of a text, with their beginnings and ends; `config` has a bit for each code point."""
    spaces = _spaces(config)
    points, offsets = code_points(text)
    words = []
    start = None
    for at, point in enumerate(points):
        if point not in spaces:
            start = offsets[at] if start is None else start
        elif start is not None:
            end = offsets[at + 1] - 1  # as in TensorFlow Text: one byte before the end of the whitespace
            words.append((text[start:end], start, end))
            start = None
    if start is not None:
        words.append((text[start:], start, len(text)))
    return words


@functools.lru_cache(8)
def _spaces(config: bytes) -> frozenset[int]:
    bits = np.unpackbits(np.frombuffer(config, np.uint8), bitorder="little")
    return frozenset(np.flatnonzero(bits).tolist()) - {NOT_A_CHARACTER}


@host("RegexSplitWithOffsets")
def regex_split(input, delim_regex_pattern, keep_delim_regex_pattern):
    pattern = scalar_value(delim_regex_pattern, "delim_regex_pattern")
    kept = scalar_value(keep_delim_regex_pattern, "keep_delim_regex_pattern")
    delimiter, keep = compiled_regex(pattern), compiled_regex(kept) if kept else None
    in_ascii = ascii_regex(pattern)
    if in_ascii is not None and in_ascii.groups:
        return _split_completely(input.reshape(-1).tolist(), pattern, keep)
    is_kept: dict[bytes, bool] = {b"": False}
    tokens: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    splits = [0]
    for text in input.reshape(-1).tolist():
        text = text.split(b"\0")[0]  # as in TensorFlow Text, which reads up to the first zero byte
        last = 0
        for start, end, after in _delimiters(delimiter, pattern, text):
            if last < start:
                tokens.append(text[last:start])
                starts.append(last)
                ends.append(start)
            token = text[start:end]
            if keep is not None:
                if token not in is_kept:
                    is_kept[token] = keep.fullmatch(token) is not None
                if is_kept[token]:
                    tokens.append(token)
                    starts.append(start)
                    ends.append(end)
            last = after
        if last < len(text):
            tokens.append(text[last:])
            starts.append(last)
            ends.append(len(text))
        splits.append(len(tokens))
    return (
        string_array(tokens),
        np.array(starts, np.int64),
        np.array(ends, np.int64),
        np.array(splits, np.int64),
    )


def _split_completely(texts: list[bytes], pattern: bytes, keep: Any) -> tuple[NDArray[Any], ...]:
    """The same for all texts together, where the first group of a delimiter is all of it."""
    texts = [text.partition(b"\0")[0] for text in texts]
    parts: list[bytes] = []
    """What is between delimiters, and these, in turn; no text ends with a delimiter."""
    row_ends = [0]
    for text_parts in split_texts(pattern, texts):
        parts += text_parts
        parts.append(b"")
        row_ends.append(len(parts))
    delimiters = parts[1::2]
    is_kept = {
        part: keep is not None and bool(part) and keep.fullmatch(part) is not None for part in {*delimiters}
    }
    lengths = np.fromiter(map(len, parts), np.int64, len(parts))
    are_tokens = lengths > 0
    are_tokens[1::2] = [is_kept[part] for part in delimiters]
    before = np.cumsum([0, *map(len, texts)])[:-1]
    ends = np.cumsum(lengths) - np.repeat(before, np.diff(row_ends))
    return (
        string_array(list(compress(parts, are_tokens.tolist()))),
        (ends - lengths)[are_tokens],
        ends[are_tokens],
        np.append(0, np.cumsum(are_tokens))[row_ends],
    )


def _delimiters(regex: Any, pattern: bytes, text: bytes) -> Iterator[tuple[int, int, int]]:
    """Where the first group of each match begins and ends, and where the match ends."""
    if not regex.groups:
        return
    if _LOOKS_BACK(pattern):
        at = 0
        while at < len(text) and (match := regex.search(text[at:])) is not None:
            if match.end() == 0:
                raise _empty(pattern)
            yield at + match.start(1), at + match.end(1), at + match.end()
            at += match.end()
        return
    for match in regex.finditer(text):
        start, end = match.span()
        if start == end:
            if start < len(text):
                raise _empty(pattern)
            return
        yield match.start(1), match.end(1), end


def _empty(pattern: bytes) -> RunFailed:
    return RunFailed(f"the delimiter `{printable(pattern)}` matches an empty string")


# Code points


@host("WhitespaceTokenizeWithOffsets")
def whitespace_tokenize(input_values, input_splits, *, Tsplits):
    is_space = np.isin(input_values, _WHITESPACE)
    return _tokens(input_values, input_splits, is_space, np.zeros(len(input_values), np.int64), Tsplits.numpy)


@host("UnicodeScriptTokenizeWithOffsets")
def unicode_script_tokenize(input_values, input_splits, *, keep_whitespace, Tsplits):
    is_space = np.isin(input_values, _WHITESPACE)
    classes = script_numbers(input_values)
    if keep_whitespace:
        return _tokens(
            input_values, input_splits, np.zeros_like(is_space), classes * 2 + is_space, Tsplits.numpy
        )
    return _tokens(input_values, input_splits, is_space, classes, Tsplits.numpy, joins=True)


def _tokens(
    points: NDArray[Any],
    row_splits: NDArray[Any],
    is_space: NDArray[Any],
    classes: NDArray[Any],
    dtype: Any,
    *,
    joins: bool = False,
) -> tuple[NDArray[Any], ...]:
    """Runs of code points of one class without whitespace; `joins`: whitespace of it ends no token."""
    check_splits(row_splits, len(points))
    starts: list[int] = []
    limits: list[int] = []
    inner: list[int] = []
    outer = [0]
    spaces, numbers = is_space.tolist(), classes.tolist()
    copied = 0
    for begin, end in pairwise(row_splits.tolist()):
        open_token, skipped, before = False, 0, None
        for at in range(begin, end):
            if (joins or not spaces[at]) and numbers[at] == before:
                pass
            elif spaces[at] and not joins:
                if open_token:
                    limits.append(at - begin - skipped)
                open_token = False
            else:
                if open_token and numbers[at] != before:
                    limits.append(at - begin - skipped)
                    open_token = False
                before = numbers[at]
            if spaces[at]:
                skipped += 1
                continue
            if not open_token:
                starts.append(at - begin)
                inner.append(copied)
                open_token = True
            copied += 1
            skipped = 0
        if open_token:
            limits.append(end - begin - skipped)
        outer.append(len(starts))
    inner.append(copied)
    return (
        points[~is_space],
        np.array(inner, dtype),
        np.array(starts, np.int64),
        np.array(limits, np.int64),
        np.array(outer, dtype),
    )
