"""Words of a text in groups, and hashes of features: what on-device text models begin with."""

from __future__ import annotations

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
                grams.append(b" ".join(words[place] for place in chosen))
            if len(grams) > MOST_GRAMS:
                raise RunFailed(f"the text has more than {MOST_GRAMS:,} groups of words")
    out = np.empty(len(grams), object)
    out[:] = grams
    return out


def _words(text: bytes) -> list[bytes]:
    """The words; the first letter belongs to the first word even if it is a space."""
    words, start = [], 0
    for place in range(1, len(text)):
        if text[place] in SPACES:
            if place > start and text[start] not in SPACES:
                words.append(text[start:place])
            start = place + 1
    return [*words, text[start:]] if len(text) > start else words


def _choices(count: int, size: int, skipped: int) -> Any:
    """Increasing places with at most so many left out between two, longer groups before their beginnings."""

    def extended(chosen: tuple[int, ...]) -> Any:
        if len(chosen) < size:
            for place in range(chosen[-1] + 1, min(count, chosen[-1] + skipped + 2)):
                yield from extended((*chosen, place))
        yield chosen

    for first in range(count):
        yield from extended((first,))


@host("LiteLshProjection")
def lsh_projection(hash, input, weight, *, sparse):
    """The signs of weighted sums of the fingerprints of all items, one for each seed."""
    items = [row.tobytes() for row in np.ascontiguousarray(input)]
    weights = weight.reshape(-1).astype(np.float64) if weight.size else np.ones(len(items))
    bits = np.zeros(hash.shape, np.int32)
    for place in np.ndindex(hash.shape):
        seed = np.float32(hash[place]).tobytes()
        values = np.asarray(fingerprint64([seed + item for item in items])).view(np.int64)
        score = sum((weights * values).tolist())  # one after the other, as rounding depends on the order
        bits[place] = score > 0
    if not sparse:
        return bits.reshape(-1)
    powers = 1 << np.arange(hash.shape[1])[::-1]
    return ((bits * powers).sum(axis=1) + np.arange(len(bits)) * (1 << hash.shape[1])).astype(np.int32)
