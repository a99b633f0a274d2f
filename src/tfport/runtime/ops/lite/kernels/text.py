"""What on-device text models begin with: groups of words, hashes of features, sparse lookups in tables."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.lower import host
from tfport.runtime.ops.strings.fingerprints import fingerprint64

MOST_GRAMS = 1_000_000
SPACES = b" \t\n\v\f\r"


@host("LiteSkipGram")
def skip_gram(x, *, ngram_size, max_skip_size, include_all_ngrams):
    text = bytes(x.reshape(-1)[0]) if x.size else b""
    words = _words(text)
    grams: list[bytes] = []
    if 0 < ngram_size <= len(words):
        for chosen in _choices(len(words), ngram_size, max_skip_size):
            if len(chosen) == ngram_size or include_all_ngrams:
                grams.append(b" ".join(words[index] for index in chosen))
            if len(grams) > MOST_GRAMS:
                raise RunFailed(f"the text has more than {MOST_GRAMS:,} groups of words")
    out = np.empty(len(grams), object)
    out[:] = grams
    return out


def _words(text: bytes) -> list[bytes]:
    """The words; the first letter belongs to the first word even if it is a space."""
    words, start = [], 0
    for index in range(1, len(text)):
        if text[index] in SPACES:
            if index > start and text[start] not in SPACES:
                words.append(text[start:index])
            start = index + 1
    return [*words, text[start:]] if len(text) > start else words


def _choices(count: int, size: int, skipped: int) -> Any:
    """Increasing indices with at most so many left out between two, longer groups before their beginnings."""

    def extended(chosen: tuple[int, ...]) -> Any:
        if len(chosen) < size:
            for index in range(chosen[-1] + 1, min(count, chosen[-1] + skipped + 2)):
                yield from extended((*chosen, index))
        yield chosen

    for first in range(count):
        yield from extended((first,))


@host("LiteLshProjection")
def lsh_projection(hash, input, weight, *, sparse):
    """The signs of weighted sums of the fingerprints of all items, one for each seed."""
    items = [row.tobytes() for row in np.ascontiguousarray(input)]
    weights = weight.reshape(-1).astype(np.float64) if weight.size else np.ones(len(items))
    bits = np.zeros(hash.shape, np.int32)
    for index in np.ndindex(hash.shape):
        seed = np.float32(hash[index]).tobytes()
        values = np.asarray(fingerprint64([seed + item for item in items])).view(np.int64)
        score = sum((weights * values).tolist())  # one after the other, as rounding depends on the order
        bits[index] = score > 0
    if not sparse:
        return bits.reshape(-1)
    powers = 1 << np.arange(hash.shape[1])[::-1]
    return ((bits * powers).sum(axis=1) + np.arange(len(bits)) * (1 << hash.shape[1])).astype(np.int32)


@host("LiteEmbeddingLookupSparse")
def embedding_lookup_sparse(ids, indices, shape, weights, table, *, combiner):
    """Rows combined along the last axis of the sparse tensor; a position that comes back is combined anew."""
    sizes = tuple(int(size) for size in shape[:-1])
    if len(shape) != indices.shape[1] or not len(ids) == len(indices) == len(weights):
        raise RunFailed("the rows, indices, weights and shape of a sparse lookup do not fit together")
    if ((ids < 0) | (ids >= len(table))).any():
        raise RunFailed(f"a row of a sparse lookup is not in [0, {len(table) - 1}]")
    if (indices[:, :-1] < 0).any() or (indices[:, :-1] >= np.array(sizes, np.int64)).any():
        raise RunFailed(f"an index of a sparse lookup is outside of the shape {list(shape)}")
    y = np.zeros((int(np.prod(sizes, dtype=np.int64)), *table.shape[1:]), np.float32)
    strides = np.cumprod([1, *sizes[:0:-1]], dtype=np.int64)[::-1][: len(sizes)]
    positions = indices[:, :-1].astype(np.int64) @ strides
    for start, end in _runs(positions):
        position, factors = positions[start], weights[start:end]
        for row, factor in zip(ids[start:end], factors, strict=True):
            y[position] += table[row] * factor
        if combiner != "SUM":
            y[position] /= factors.sum() if combiner == "MEAN" else np.sqrt((factors * factors).sum())
    return y.reshape(*sizes, *table.shape[1:])


def _runs(positions: Any) -> list[tuple[int, int]]:
    """Where equal neighbors begin and end."""
    changes = np.flatnonzero(np.diff(positions)) + 1
    ends = [0, *changes.tolist(), len(positions)]
    return list(pairwise(ends)) if len(positions) else []
