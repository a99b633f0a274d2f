"""Rows of tokens as row splits; and the tokens of words, remembered, because texts repeat their words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

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
