"""WordPiece: by a table, and by the model of the fast tokenizer."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host, quick
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes
from tfport.runtime.ops.tables.table import LookupTable, StaticTable
from tfport.runtime.ops.text.characters import code_points
from tfport.runtime.ops.text.fast_wordpiece import FastWordpiece
from tfport.runtime.ops.text.flat_models import prepared
from tfport.runtime.ops.text.tokens import TokenCache, columns_of
from tfport.startup.dataclass import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray


@host("FastWordpieceTokenizeWithOffsets")
def fast_wordpiece_tokenize(input_values, wp_model):
    return _tokenize(FastWordpiece(wp_model), input_values)


def _tokenize(model: FastWordpiece, texts: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    if texts.ndim != 1:
        raise RunFailed(f"input_values must be a vector, found shape {list(texts.shape)}")
    words, begins, row_ends = model.words(texts.tolist())
    pieces, ids, starts, ends, counts = columns_of(words, model.tokens, 3)
    begins = np.repeat(begins, counts)
    splits = np.append(0, np.cumsum(counts))[np.append(0, row_ends)]
    return pieces, ids, splits, starts + begins, ends + begins


quick(fast_wordpiece_tokenize)(prepared(1, FastWordpiece, _tokenize))


@host("TFText>FastWordpieceDetokenize")
def fast_wordpiece_detokenize(input_values, input_row_splits, wp_model):
    return _detokenize(FastWordpiece(wp_model), input_values, input_row_splits)


def _detokenize(model: FastWordpiece, values: NDArray[Any], splits: NDArray[Any]) -> NDArray[Any]:
    check_splits(splits, len(values))
    ids = values.tolist()
    return string_array([model.detokenize(ids[a:b]) for a, b in pairwise(splits.tolist())])


quick(fast_wordpiece_detokenize)(prepared(2, FastWordpiece, _detokenize))


# By a table


@dataclass(frozen=True, slots=True)
class WordpieceOptions:
    """The attributes of WordpieceTokenizeWithOffsets."""

    suffix: bytes
    most_bytes: int
    most_characters: int
    unknown: bytes | None
    splits_unknown: bool


_known: WeakKeyDictionary[LookupTable, dict[WordpieceOptions, TokenCache[Any]]] = WeakKeyDictionary()


@host("WordpieceTokenizeWithOffsets")
def wordpiece_tokenize(
    input_values, vocab_lookup_table, *, suffix_indicator, max_bytes_per_word, max_chars_per_token,
    use_unknown_token, unknown_token, split_unknown_characters, output_row_partition_type,
):  # fmt: skip
    options = WordpieceOptions(
        attr_bytes(suffix_indicator),
        max_bytes_per_word,
        max_chars_per_token,
        attr_bytes(unknown_token) if use_unknown_token else None,
        split_unknown_characters,
    )
    known = _cache(vocab_lookup_table, options)
    pieces, starts, ends, counts = columns_of(input_values.reshape(-1).tolist(), known.__getitem__, 2)
    partition = counts if output_row_partition_type == "row_lengths" else np.append(0, np.cumsum(counts))
    return pieces, partition, starts, ends


def _cache(table: LookupTable, options: WordpieceOptions) -> TokenCache[Any]:
    """The tokens of words; those of an immutable table are remembered between runs."""
    if not isinstance(table, StaticTable):
        return TokenCache(partial(_pieces, _vocabulary(table), options))
    caches = _known.setdefault(table, {})
    if options not in caches:
        caches[options] = TokenCache(partial(_pieces, _vocabulary(table), options))
    return caches[options]


def _vocabulary(table: LookupTable) -> frozenset[bytes]:
    keys, values = table.export()
    return frozenset(keys[values != -1].tolist())  # -1 is TensorFlow Text's value of missing keys


def _pieces(
    vocabulary: frozenset[bytes], options: WordpieceOptions, word: bytes
) -> tuple[list[bytes], list[int], list[int]]:
    """The longest pieces from left to right, and where they begin and end."""
    unknown = options.unknown
    if len(word) > options.most_bytes:
        piece = word if unknown is None else unknown
        return [piece], [0], [len(piece)]  # as in TensorFlow Text, the end is that of the unknown token
    _, offsets = code_points(word)
    pieces: list[bytes] = []
    starts: list[int] = []
    ends: list[int] = []
    at, last = 0, len(offsets) - 1
    while at < last:
        start, prefix = offsets[at], options.suffix if at else b""
        limit = min(last, at + options.most_characters) if options.most_characters > 0 else last
        for end in range(limit, at, -1):
            piece = prefix + word[start : offsets[end]]
            if piece in vocabulary:
                break
        else:
            if not options.splits_unknown:
                return [word if unknown is None else unknown], [0], [len(word)]
            end = at + 1
            piece = prefix + (word[start : offsets[end]] if unknown is None else unknown)
        pieces.append(piece)
        starts.append(start)
        ends.append(offsets[end])
        at = end
    return pieces, starts, ends
