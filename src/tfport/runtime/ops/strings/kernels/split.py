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


@host("StringSplit")
def string_split(input, delimiter, *, skip_empty):
    _check_vector(input)
    separators = scalar_value(delimiter, "delimiter")
    if not separators:
        return _sparse([[text[i : i + 1] for i in range(len(text))] for text in input.tolist()])
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
    if len(rows) == 1:
        (row,) = rows
        indices = np.zeros((len(row), 2), np.int64)
        indices[:, 1] = np.arange(len(row))
        return indices, string_array(row), np.array([1, len(row)], np.int64)
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    total = int(sizes.sum())
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), sizes)
    indices[:, 1] = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    shape = np.array([len(rows), sizes.max(initial=0)], np.int64)
    return indices, string_array([word for row in rows for word in row]), shape
