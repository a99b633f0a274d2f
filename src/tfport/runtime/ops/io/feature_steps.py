"""Feature lists of many SequenceExamples as columns: for each key the steps and their elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.feature_columns import FeatureSpec, find_entries
from tfport.runtime.ops.io.feature_lists import KIND_TAGS, elements
from tfport.runtime.ops.io.message_batches import Ints, MalformedMessage, MessageBuffer, Spans


class FeatureListColumn(NamedTuple):
    """A feature list of all SequenceExamples."""

    present: Any
    lengths: Ints
    """The number of steps in each SequenceExample."""
    counts: Ints
    """The number of elements in each step."""
    values: Any


def step_columns(
    buffer: MessageBuffer, maps: Spans, specs: Sequence[FeatureSpec], names: Sequence[str], rows: int
) -> list[FeatureListColumn]:
    """Parse feature lists from the maps of `rows` SequenceExamples; errors use `names` for them."""
    spans, bounds, order = find_entries(buffer, maps, specs)
    by_number: dict[int, FeatureListColumn] = {}
    for place, number in enumerate(order):
        part = spans.take(slice(bounds[place], bounds[place + 1]))
        try:
            by_number[number] = _steps(buffer, part, specs[number].kind, rows)
        except MalformedMessage as malformed:
            key = specs[number].key.decode(errors="replace")
            raise RunFailed(
                f"{names[malformed.owner]}: feature list `{key}` must be a valid list of {specs[number].kind}"
            ) from None
    return [by_number[i] for i in range(len(specs))]


def _steps(buffer: MessageBuffer, lists: Spans, kind: str, rows: int) -> FeatureListColumn:
    steps = buffer.repeated(lists, 0x0A)
    filled = steps.end > steps.start
    if (wrong := filled & (buffer.bytes[steps.start] != KIND_TAGS[kind])).any():
        raise MalformedMessage(int(steps.owner[wrong.argmax()]))
    present = np.zeros(rows, bool)
    present[lists.owner] = True
    return FeatureListColumn(
        present, np.bincount(steps.owner, minlength=rows), *elements(buffer, steps, kind)
    )
