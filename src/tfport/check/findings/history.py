"""Where the atlas records an op, and the names that are close to it."""

from __future__ import annotations

import functools

from tfport.atlas.atlas import atlas
from tfport.atlas.op_search import OpSummary, suggestions, summaries


@functools.lru_cache(1024)
def history_of(op: str) -> OpSummary:
    """The releases and packages that register an op."""
    (history,) = summaries(atlas(), [op])
    return history


@functools.lru_cache(1024)
def close_names(op: str) -> tuple[str, ...]:
    """Recorded ops with a similar name."""
    return tuple(suggestions(atlas(), op, 1))
