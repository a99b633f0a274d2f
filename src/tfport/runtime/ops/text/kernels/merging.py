"""SplitMergeTokenizeWithOffsets and TokenizerFromLogits: for each character, whether a token begins."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import scalar_value
from tfport.runtime.ops.text.characters import WHITESPACE
from tfport.runtime.ops.text.tokens import splits_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BREAKS = frozenset(character.encode() for character in WHITESPACE)
_WIDTHS = b"\1" * 0xC0 + b"\2" * 0x20 + b"\3" * 0x10 + b"\4" * 0x10
"""The bytes of a character, by its first byte alone."""
Token = tuple[bytes, int, int]


@host("SplitMergeTokenizeWithOffsets")
def split_merge_tokenize(input_values, labels, row_splits, *, force_split_at_break_character):
    if len(row_splits) != len(input_values) + 1:
        raise RunFailed(
            f"expected {len(input_values) + 1} row splits for as many texts, found {len(row_splits)}"
        )
    splits = labels == 0
    rows = [splits[a:b] for a, b in zip(row_splits[:-1].tolist(), row_splits[1:].tolist(), strict=True)]
    return _tokenized(input_values, rows, force_split_at_break_character)


@host("TokenizerFromLogits")
def tokenizer_from_logits(strings, logits, force_split_at_break_character):
    if logits.ndim != 3 or len(logits) != len(strings) or logits.shape[2] != 2:
        raise RunFailed(f"logits must have shape [{len(strings)}, ?, 2], found {list(logits.shape)}")
    forced = bool(scalar_value(force_split_at_break_character, "force_split_at_break_character"))
    return _tokenized(strings, list(logits[:, :, 0] > logits[:, :, 1]), forced)


def _tokenized(texts: NDArray[Any], begins: list[Any], forced: bool) -> tuple[NDArray[Any], ...]:
    rows = [_tokens(*row, forced) for row in zip(texts.tolist(), begins, strict=True)]
    tokens = list(chain.from_iterable(rows))
    return (
        string_array([token for token, _, _ in tokens]),
        splits_of(rows),
        np.array([start for _, start, _ in tokens], np.int64),
        np.array([end for _, _, end in tokens], np.int64),
    )


def _tokens(text: bytes, begins: NDArray[Any], forced: bool) -> list[Token]:
    """The tokens of a text; whitespace is in none, and `forced` ends them."""
    tokens: list[Token] = []
    flags = begins.tolist()
    start = count = 0
    after_break = False
    while start < len(text):
        width = _WIDTHS[text[start]]
        # the last character may lack bytes: a string of TensorFlow ends with a zero byte
        character = text[start : start + width].ljust(width, b"\0")
        if count == len(flags):
            raise RunFailed(f"{len(flags)} decisions are too few for the characters of a text")
        is_break = character in _BREAKS
        if not is_break:
            if flags[count] or not tokens or (after_break and forced):
                tokens.append((character, start, start + width))
            else:
                before, first, _ = tokens[-1]
                tokens[-1] = before + character, first, start + width
        count, start, after_break = count + 1, start + width, is_break
    return tokens
