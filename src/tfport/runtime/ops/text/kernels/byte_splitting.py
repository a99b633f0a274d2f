"""ByteSplitWithOffsets, ByteSplitByOffsets and Utf8Binarize: the bytes and the bits of texts."""

from __future__ import annotations

from itertools import chain, pairwise

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits, within_rows
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.text.characters import NOT_A_CHARACTER, code_points


@host("TFText>ByteSplitWithOffsets")
def byte_split_with_offsets(input_values):
    texts = input_values.tolist()
    lengths = np.array([len(text) for text in texts], np.int64)
    starts = within_rows(lengths).astype(np.int32)
    splits = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return np.frombuffer(b"".join(texts), np.uint8), splits, starts, starts + np.int32(1)


@host("TFText>ByteSplitByOffsets")
def byte_split_by_offsets(input_values, input_start_offsets, input_end_offsets, input_row_splits):
    if len(input_row_splits) != len(input_values) + 1:
        raise RunFailed(
            f"expected {len(input_values) + 1} row splits for {len(input_values)} texts, "
            f"found {len(input_row_splits)}"
        )
    check_splits(input_row_splits, len(input_start_offsets))
    if len(input_start_offsets) != len(input_end_offsets):
        raise RunFailed("there must be as many end offsets as start offsets")
    texts = np.repeat(input_values, np.diff(input_row_splits)).tolist()
    parts = []
    for text, start, end in zip(texts, input_start_offsets.tolist(), input_end_offsets.tolist(), strict=True):
        if not 0 <= start <= end <= len(text):
            raise RunFailed(f"offsets {start} and {end} are not within a text of {len(text)} bytes")
        parts.append(text[start:end])
    return string_array(parts), input_row_splits


@host("TFText>Utf8Binarize")
def utf8_binarize(input_tokens, *, word_length, bits_per_char, replacement_char):
    words = [code_points(token)[0][:word_length] for token in input_tokens.tolist()]
    points = np.array(list(chain.from_iterable(words)), np.int64)
    points[points == NOT_A_CHARACTER] = replacement_char
    bits = np.zeros((len(words), word_length, bits_per_char), np.float32)
    splits = np.cumsum([0, *map(len, words)])
    columns = np.concatenate([np.arange(b - a) for a, b in pairwise(splits.tolist())] or [points])
    # an arithmetic shift by 63 repeats the sign, as shifts one by one do
    shifts = np.minimum(np.arange(bits_per_char), 63)
    bits[np.repeat(np.arange(len(words)), np.diff(splits)), columns] = points[:, None] >> shifts & 1
    return bits.reshape(len(words), word_length * bits_per_char)
