"""OffsetsToBoiseTags and BoiseTagsToOffsets: whether tokens begin, are in, or end the spans of a text.

The tags of tokens: B(egin), O(utside), I(nside), S(ingleton) and E(nd), with the type of the span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import scalar_value
from tfport.runtime.ops.text.tokens import splits_of

Span = tuple[int, int, bytes]


@host("TFText>OffsetsToBoiseTags")
def offsets_to_boise_tags(
    input_token_begin_offsets, input_token_end_offsets,
    input_span_begin_offsets, input_span_end_offsets, input_span_type,
    input_token_begin_row_splits, input_token_end_row_splits,
    input_span_begin_row_splits, input_span_end_row_splits, input_span_type_row_splits,
    input_use_strict_boundary_mode,
):  # fmt: skip
    strict = bool(scalar_value(input_use_strict_boundary_mode, "input_use_strict_boundary_mode"))
    tokens = _rows(
        (input_token_begin_offsets, input_token_end_offsets),
        (input_token_begin_row_splits, input_token_end_row_splits),
    )
    spans = _rows(
        (input_span_begin_offsets, input_span_end_offsets, input_span_type),
        (input_span_begin_row_splits, input_span_end_row_splits, input_span_type_row_splits),
    )
    if len(tokens) != len(spans):
        raise RunFailed(f"found {len(tokens)} rows of tokens, and {len(spans)} of spans")
    return string_array(
        list(chain.from_iterable(_tags(*row, strict) for row in zip(tokens, spans, strict=True)))
    )


@host("TFText>BoiseTagsToOffsets")
def boise_tags_to_offsets(
    input_token_begin_offsets, input_token_end_offsets, input_boise_tags,
    input_token_begin_row_splits, input_token_end_row_splits, input_boise_tags_row_splits,
):  # fmt: skip
    rows = _rows(
        (input_token_begin_offsets, input_token_end_offsets, input_boise_tags),
        (input_token_begin_row_splits, input_token_end_row_splits, input_boise_tags_row_splits),
    )
    of_rows = [list(_spans(row)) for row in rows]
    spans = list(chain.from_iterable(of_rows))
    return (
        np.array([start for start, _, _ in spans], np.int32),
        np.array([end for _, end, _ in spans], np.int32),
        string_array([kind for _, _, kind in spans]),
        splits_of(of_rows),
    )


def _rows(columns: Sequence[Any], splits: Sequence[Any]) -> list[list[Any]]:
    """The rows of columns that have the same splits, as tuples of their elements."""
    if any(len(column) != len(columns[0]) for column in columns):
        raise RunFailed(f"expected as many elements everywhere, found {[len(c) for c in columns]}")
    if any(not np.array_equal(each, splits[0]) for each in splits):
        raise RunFailed("the row splits of tokens, of spans, and of their tags or types must be the same")
    check_splits(splits[0], len(columns[0]))
    elements = list(zip(*(column.tolist() for column in columns), strict=True))
    return [elements[a:b] for a, b in pairwise(splits[0].tolist())]


def _tags(tokens: list[tuple[int, int]], spans: list[Span], strict: bool) -> Iterator[bytes]:
    at = 0
    for token in tokens:
        tag, at = _tag(token, spans, at, strict)
        yield tag


def _tag(token: tuple[int, int], spans: list[Span], at: int, strict: bool) -> tuple[bytes, int]:
    """The tag of a token, and the span to continue with."""
    start, end = token
    tag = b"O"
    while at < len(spans):
        first, last, kind = spans[at]
        if end <= first:
            return tag, at
        if start >= last:
            at += 1
        elif start <= first and end <= last:
            if end >= last and start >= first:
                return b"S-" + kind, at + 1
            return (tag if strict and start != first else b"B-" + kind), at
        elif end >= last and start >= first:
            at += 1
            if strict and end != last:
                return tag, at
            tag = b"E-" + kind
        elif start >= first and end <= last:
            return b"I-" + kind, at
        else:
            tag = b"B-" + kind
            at += 1
    return tag, at


def _spans(tokens: list[Span]) -> Iterator[Span]:
    """The spans of tokens with tags; the last one ends with the tokens."""
    first, kind, before, is_open = -1, b"", -1, False
    for start, end, tag in tokens:
        prefix = tag[:2]
        if not is_open:
            if prefix in (b"B-", b"I-"):
                first, kind, is_open = start, _kind(tag), True
            elif prefix in (b"E-", b"S-"):
                kind = b""
                yield start, end, _kind(tag)
        elif tag.startswith(b"O"):
            yield first, before, kind
            kind, is_open = b"", False
        elif prefix in (b"E-", b"S-"):
            yield first, end, _kind(tag)
            is_open = False
        elif prefix in (b"B-", b"I-"):
            kind = _kind(tag)
        before = end
    if is_open:
        yield first, before, kind


def _kind(tag: bytes) -> bytes:
    return tag[2:].split(b"\0")[0]  # as in TensorFlow Text, which reads up to the first zero byte
