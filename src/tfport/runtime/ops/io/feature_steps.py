"""Lists of features of many SequenceExamples: for each key their steps, and the elements of each step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.feature_columns import Wanted, found_entries
from tfport.runtime.ops.io.feature_lists import KIND_TAGS, elements
from tfport.runtime.ops.io.message_batches import Broken, Ints, Spans, Wire


class Steps(NamedTuple):
    """A list of features of all SequenceExamples."""

    present: Any
    lengths: Ints
    """How many steps each has."""
    counts: Ints
    """How many elements each step has."""
    values: Any


def step_columns(
    wire: Wire, maps: Spans, wanted: Sequence[Wanted], names: Sequence[str], rows: int
) -> list[Steps]:
    """The wanted lists of maps that belong to `rows` SequenceExamples."""
    spans, bounds, order = found_entries(wire, maps, wanted)
    found: dict[int, Steps] = {}
    for place, number in enumerate(order):
        part = spans.take(slice(bounds[place], bounds[place + 1]))
        try:
            found[number] = _steps(wire, part, wanted[number].kind, rows)
        except Broken as broken:
            key = wanted[number].key.decode(errors="replace")
            raise RunFailed(
                f"{names[broken.owner]}: feature list `{key}` is no list of {wanted[number].kind}"
            ) from None
    return [found[i] for i in range(len(wanted))]


def _steps(wire: Wire, lists: Spans, kind: str, rows: int) -> Steps:
    steps = wire.repeated(lists, 0x0A)
    filled = steps.end > steps.start
    if (wrong := filled & (wire.bytes[steps.start] != KIND_TAGS[kind])).any():
        raise Broken(int(steps.owner[wrong.argmax()]))
    present = np.zeros(rows, bool)
    present[lists.owner] = True
    return Steps(present, np.bincount(steps.owner, minlength=rows), *elements(wire, steps, kind))
