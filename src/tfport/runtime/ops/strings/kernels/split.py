"""StringSplit and StringSplitV2; the result is a sparse matrix of words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.byte_strings import scalar_value, string_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BYTES = string_array([bytes((byte,)) for byte in range(256)])
"""Every string of one byte."""


@host("StringSplit")
def string_split(input, delimiter, *, skip_empty):
    _check_vector(input)
    separators = scalar_value(delimiter, "delimiter")
    if not separators:
        texts = input.tolist()
        return _places(texts), _BYTES.take(np.frombuffer(b"".join(texts), np.uint8)), _shape(texts)
    pattern = re.compile(
        b"[" + b"".join(re.escape(separators[i : i + 1]) for i in range(len(separators))) + b"]"
    )
    # an empty string has no words, also with skip_empty=False
    rows = [pattern.split(text) if text else [] for text in input.tolist()]
    return _sparse([[word for word in row if word] for row in rows] if skip_empty else rows)


@host("StringSplitV2")
def string_split_v2(input, sep, *, maxsplit):
    _check_vector(input)
    separator = scalar_value(sep, "sep")
    max_splits = maxsplit if maxsplit > 0 else -1
    if maxsplit == 0:
        return _sparse([[text] for text in input.tolist()])
    if separator:
        return _sparse([text.split(separator, max_splits) for text in input.tolist()])
    return _sparse([_words(text, max_splits) for text in input.tolist()])


def _words(text: bytes, max_splits: int) -> list[bytes]:
    """Split at whitespace; the rest after the last split is a word, even if it is empty."""
    words = text.split(None, max_splits)
    if len(words) == max_splits:
        words.append(b"")
    return words


def _check_vector(input: NDArray[Any]) -> None:
    if input.ndim != 1:
        raise RunFailed(f"input must be a vector, found shape {list(input.shape)}")


def _sparse(rows: Sequence[Sequence[bytes]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    words = rows[0] if len(rows) == 1 else [word for row in rows for word in row]
    return _places(rows), string_array(words), _shape(rows)


def _places(rows: Sequence[Sequence[Any]]) -> NDArray[Any]:
    """The row and column of each word."""
    if len(rows) == 1:
        places = np.zeros((len(rows[0]), 2), np.int64)
        places[:, 1] = np.arange(len(rows[0]))
        return places
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    total = int(sizes.sum())
    places = np.empty((total, 2), np.int64)
    places[:, 0] = np.repeat(np.arange(len(rows)), sizes)
    places[:, 1] = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return places


def _shape(rows: Sequence[Sequence[Any]]) -> NDArray[Any]:
    return np.array([len(rows), max(map(len, rows), default=0)], np.int64)
