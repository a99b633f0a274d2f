"""Where the atlas records an op, and the names that are close to it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from tfport.atlas.atlas import RecordedSource, atlas
from tfport.atlas.target import Target

if TYPE_CHECKING:
    from tfport.atlas.op_search import OpSummary


@functools.lru_cache(1024)
def history_of(op: str) -> OpSummary:
    """The releases and packages that register an op."""
    from tfport.atlas.op_search import summaries  # here and below, as a model that runs does not need it

    (history,) = summaries(atlas(), [op])
    return history


@functools.lru_cache(1024)
def close_names(op: str) -> tuple[str, ...]:
    """Recorded ops with a similar name."""
    from tfport.atlas.op_search import suggestions

    return tuple(suggestions(atlas(), op, 1))


def own_libraries(target: Target, op: str) -> tuple[str, ...]:
    """The libraries of the target's own wheels that register an op, once they are loaded."""
    sources = (source for source in target.registry.sources if isinstance(source, RecordedSource))
    return tuple(library for source in sources for library in source.providers(op))
