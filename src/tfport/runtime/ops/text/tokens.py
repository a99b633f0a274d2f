"""The tokens of words, remembered, because texts repeat their words, and as columns; rows as row splits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from tfport.runtime.ops.shared.arrays import expand_ranges, string_array

if TYPE_CHECKING:
    from numpy.typing import NDArray

Result = TypeVar("Result")
MOST = 100_000
"""As many words are remembered; the next one starts again."""
LONGEST = 200
"""Longer words, in bytes, are not remembered."""


class TokenCache(dict[bytes, Result]):
    """What `tokenize` returns for a word. Threads may use it at the same time."""

    def __init__(self, tokenize: Callable[[bytes], Result]) -> None:
        self._tokenize = tokenize

    def __missing__(self, word: bytes) -> Result:
        tokens = self._tokenize(word)
        if len(word) <= LONGEST:
            if len(self) >= MOST:
                self.clear()
            self[word] = tokens
        return tokens


def splits_of(rows: Iterable[Sized], dtype: Any = np.int64) -> NDArray[Any]:
    """The row splits of rows."""
    return np.array([0, *accumulate(map(len, rows))], dtype)


def columns_of(
    words: list[bytes], tokens: Callable[[bytes], tuple[list[Any], ...]], numeric: int
) -> tuple[NDArray[Any], ...]:
    """The tokens of all words, and how many each has: strings, and so many columns of numbers.

    A word that repeats is split once.
    """
    numbers = {word: number for number, word in enumerate(dict.fromkeys(words))}
    rows = [tokens(word) for word in numbers]
    lengths = np.fromiter((len(row[0]) for row in rows), np.int64, len(rows))
    which = np.fromiter(map(numbers.__getitem__, words), np.int64, len(words))
    counts = lengths[which]
    places = expand_ranges((np.cumsum(lengths) - lengths)[which], counts, 1)
    strings, *others = (list(chain.from_iterable(row[at] for row in rows)) for at in range(1 + numeric))
    return (string_array(strings)[places], *(np.array(c, np.int64)[places] for c in others), counts)
