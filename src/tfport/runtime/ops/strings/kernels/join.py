"""StringJoin, ReduceJoin, UnsortedSegmentJoin, StringNGrams, StringSplit and StringSplitV2."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.bounds.run_scope import memory_left, reserve_memory
from tfport.runtime.lower import host
from tfport.runtime.ops.ragged.splits import check_splits
from tfport.runtime.ops.shared.arrays import string_array
from tfport.runtime.ops.strings.byte_strings import attr_bytes, scalar_value

if TYPE_CHECKING:
    from numpy.typing import NDArray

WORD = 80
"""Bytes for a word besides its text: an object, places in lists, and its indices."""


@host("StringJoin")
def string_join(inputs, *, separator, N):
    if not inputs:
        return string_array([b""], ())
    shapes = list(dict.fromkeys(array.shape for array in inputs if array.ndim))
    if len(shapes) > 1:
        raise RunFailed(
            f"inputs must have equal shapes, found {' and '.join(str(list(shape)) for shape in shapes[:2])}"
        )
    shape = shapes[0] if shapes else ()
    columns = [np.broadcast_to(array, shape).reshape(-1).tolist() for array in inputs]
    if memory_left() is not None:
        reserve_memory(sum(len(text) for column in columns for text in column))
    return string_array(list(map(attr_bytes(separator).join, zip(*columns, strict=True))), shape)


@host("ReduceJoin")
def reduce_join(inputs, reduction_indices, *, keep_dims, separator):
    axes = [_axis(axis, inputs.ndim) for axis in reduction_indices.reshape(-1).tolist()]
    if len(set(axes)) < len(axes):
        raise RunFailed(f"reduction_indices must not repeat an axis, found {reduction_indices.tolist()}")
    kept = [axis for axis in range(inputs.ndim) if axis not in axes]
    # the first axis named varies fastest
    transposed = inputs.transpose(*kept, *reversed(axes))
    rows = transposed.reshape((*transposed.shape[: len(kept)], -1)) if transposed.size else None
    shape = [inputs.shape[axis] for axis in kept]
    if rows is None:
        joined = string_array([b""] * int(np.prod(shape)), shape)
    else:
        joined = string_array(
            [attr_bytes(separator).join(row) for row in rows.reshape(-1, rows.shape[-1]).tolist()], shape
        )
    return np.expand_dims(joined, tuple(axes)) if keep_dims else joined


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise RunFailed(f"axis {axis} is out of range for rank {rank}")
    return axis % rank


@host("UnsortedSegmentJoin")
def unsorted_segment_join(inputs, segment_ids, num_segments, *, separator):
    count = int(scalar_value(num_segments, "num_segments"))
    if count < 0:
        raise RunFailed(f"num_segments must not be negative, found {count}")
    if not segment_ids.ndim:
        raise RunFailed("segment_ids must have rank 1 or more, found a scalar")
    if inputs.shape[: segment_ids.ndim] != segment_ids.shape:
        raise RunFailed(
            f"the shape of inputs must start with that of segment_ids {list(segment_ids.shape)},"
            f" found {list(inputs.shape)}"
        )
    ids = segment_ids.reshape(-1)
    if ids.size and (ids.min() < 0 or ids.max() >= count):
        raise RunFailed(
            f"segment_ids must be at least 0 and less than num_segments {count}, "
            f"found {ids.min()} to {ids.max()}"
        )
    inner = inputs.shape[segment_ids.ndim :]
    rows = inputs.reshape(len(ids), int(np.prod(inner)))
    order = np.argsort(ids, kind="stable")
    ends = np.cumsum(np.bincount(ids, minlength=count)).tolist()
    columns = [column.tolist() for column in rows[order].T]
    separated = attr_bytes(separator).join
    joined = [
        separated(_from_first(column[start:end]))
        for start, end in itertools.pairwise([0, *ends])
        for column in columns
    ]
    return string_array(joined, (count, *inner))


def _from_first(texts: list[bytes]) -> list[bytes]:
    """The texts from the first one that is not empty: TensorFlow writes no separator before it."""
    return texts if texts and texts[0] else list(itertools.dropwhile(operator.not_, texts))


@host("StringNGrams")
def string_ngrams(
    data,
    data_splits,
    *,
    separator,
    ngram_widths,
    left_pad,
    right_pad,
    pad_width,
    preserve_short_sequences,
):
    if any(width <= 0 for width in ngram_widths):
        raise RunFailed(f"ngram_widths must be positive, found {ngram_widths}")
    words = data.reshape(-1).tolist()
    if not data_splits.size:
        # TensorFlow returns as many empty strings as there are words
        return string_array([b""] * len(words)), data_splits
    check_splits(data_splits, len(words))
    splits = data_splits.tolist()
    left, right, joiner = attr_bytes(left_pad), attr_bytes(right_pad), attr_bytes(separator)
    ngrams: list[bytes] = []
    ends = [0]
    for start, end in itertools.pairwise(splits):
        sentence = words[start:end]
        has_ngrams = False
        for width in ngram_widths:
            pad = width - 1 if pad_width < 0 else min(pad_width, width - 1)
            padded = [left] * pad + sentence + [right] * pad
            count = max(len(padded) - width + 1, 0)
            reserve_memory(width * sum(map(len, padded)) + count * (WORD + (width - 1) * len(joiner)))
            shifted = (itertools.islice(padded, i, None) for i in range(width))
            grams = list(map(joiner.join, zip(*shifted, strict=False)))
            ngrams += grams
            has_ngrams = has_ngrams or bool(grams)
        if preserve_short_sequences and not has_ngrams and sentence:
            if pad_width < 0:
                raise RunFailed(
                    "preserve_short_sequences without ngram_widths needs a pad_width of 0 or more, "
                    f"found {pad_width}"
                )
            ngrams.append(joiner.join([left] * pad_width + sentence + [right] * pad_width))
        ends.append(len(ngrams))
    return string_array(ngrams), np.array(ends)


# Splits: the result is a sparse matrix of words

_BYTES = string_array([bytes((byte,)) for byte in range(256)])
"""Every string of one byte."""


@host("StringSplit")
def string_split(input, delimiter, *, skip_empty):
    _check_vector(input)
    separators = scalar_value(delimiter, "delimiter")
    texts = input.tolist()
    if not separators:
        _reserve_words(texts, len)
        return _indices(texts), _BYTES.take(np.frombuffer(b"".join(texts), np.uint8)), _shape(texts)
    pattern = re.compile(
        b"[" + b"".join(re.escape(separators[i : i + 1]) for i in range(len(separators))) + b"]"
    )
    _reserve_words(texts, lambda text: len(text) - len(text.translate(None, separators)))
    # an empty string has no words, also with skip_empty=False
    rows = [pattern.split(text) if text else [] for text in texts]
    return _sparse([[word for word in row if word] for row in rows] if skip_empty else rows)


@host("StringSplitV2")
def string_split_v2(input, sep, *, maxsplit):
    _check_vector(input)
    texts, separator = input.tolist(), scalar_value(sep, "sep")
    max_splits = maxsplit if maxsplit > 0 else -1
    if maxsplit == 0:
        return _sparse([[text] for text in texts])
    if separator:
        _reserve_words(texts, lambda text: text.count(separator))
        return _sparse([text.split(separator, max_splits) for text in texts])
    _reserve_words(texts, lambda text: len(text) // 2)
    return _sparse([_words(text, max_splits) for text in texts])


def _reserve_words(texts: Sequence[bytes], separators: Callable[[bytes], int]) -> None:
    """Count what words need, each with its indices; `separators`: how many a text has, at most."""
    if memory_left() is not None:
        words = sum(1 + separators(text) for text in texts)
        reserve_memory(sum(map(len, texts)) + words * WORD)


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
    return _indices(rows), string_array(words), _shape(rows)


def _indices(rows: Sequence[Sequence[Any]]) -> NDArray[Any]:
    """The row and column of each word."""
    if len(rows) == 1:
        indices = np.zeros((len(rows[0]), 2), np.int64)
        indices[:, 1] = np.arange(len(rows[0]))
        return indices
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    total = int(sizes.sum())
    indices = np.empty((total, 2), np.int64)
    indices[:, 0] = np.repeat(np.arange(len(rows)), sizes)
    indices[:, 1] = np.arange(total) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return indices


def _shape(rows: Sequence[Sequence[Any]]) -> NDArray[Any]:
    return np.array([len(rows), max(map(len, rows), default=0)], np.int64)
