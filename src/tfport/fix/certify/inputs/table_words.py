"""Words that the tables of a model have as keys, so that generated strings are found in them."""

from __future__ import annotations

from tfport.errors import Error
from tfport.runtime.ops.tables.table import LookupTable
from tfport.runtime.state import State

MOST_WORDS = 24


def table_words(state: State) -> list[bytes]:
    """Some keys of each table of strings, spread over it."""
    words: list[bytes] = []
    for table in (r for r in state.resources() if isinstance(r, LookupTable)):
        try:
            keys = table.export()[0].reshape(-1)
        except Error:  # it was never initialized
            continue
        if keys.dtype == object:
            words += keys[:: max(1, len(keys) // MOST_WORDS)][:MOST_WORDS].tolist()
    return list(dict.fromkeys(words))
