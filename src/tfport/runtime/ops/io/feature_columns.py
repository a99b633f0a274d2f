"""Features of many Examples as columns: for each key, how many elements each Example has, and all of them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tfport.errors import RunFailed
from tfport.runtime.ops.io.feature_lists import KIND_TAGS, elements
from tfport.runtime.ops.io.feature_maps import entries
from tfport.runtime.ops.io.message_batches import Broken, Ints, Spans, Wire

_KIND_OF = {tag: kind for kind, tag in KIND_TAGS.items()}


class Wanted(NamedTuple):
    """A feature that is asked for."""

    key: bytes
    kind: str
    skips_empty: bool = False
    """Whether a Feature without a list counts as none."""


class Column(NamedTuple):
    """A feature of all Examples."""

    present: Any
    counts: Ints
    values: Any


def columns(
    wire: Wire, maps: Spans, wanted: Sequence[Wanted], names: Sequence[str], rows: int
) -> list[Column]:
    """The wanted features of maps that belong to `rows` Examples, called by `names` in errors."""
    spans, bounds, order = found_entries(wire, maps, wanted)
    which = np.repeat(np.arange(len(order)), np.diff(bounds))
    counts = np.zeros((len(order), rows), np.int64)
    present = np.zeros((len(order), rows), bool)
    present[which, spans.owner] = True
    values: dict[int, Any] = {}
    for kind, first, last in _groups([wanted[i].kind for i in order]):
        part = slice(bounds[first], bounds[last])
        checked = _of_kind(wire, spans.take(part), which[part], kind, [wanted[i] for i in order], names)
        try:
            each, flat = elements(wire, checked, kind)
        except Broken as broken:
            raise RunFailed(f"{names[broken.owner]}: a feature of it cannot be parsed") from None
        counts[which[part], checked.owner] = each
        ends = np.concatenate([[0], np.cumsum(each)])[bounds[first : last + 1] - bounds[first]].tolist()
        values.update({first + i: flat[a:b] for i, (a, b) in enumerate(pairwise(ends))})
    place = {number: i for i, number in enumerate(order)}
    return [Column(present[i], counts[i], values[i]) for i in map(place.__getitem__, range(len(wanted)))]


def found_entries(wire: Wire, maps: Spans, wanted: Sequence[Wanted]) -> tuple[Spans, Ints, list[int]]:
    """One entry at most for each key and Example: the last. Keys come in `order`, by type."""
    keys = [one.key for one in wanted]
    if len(set(keys)) < len(keys):
        raise RunFailed("one key is asked for twice")
    order = sorted(range(len(wanted)), key=lambda i: list(KIND_TAGS).index(_known(wanted[i].kind)))
    spans, bounds = entries(wire, maps, [keys[i] for i in order])
    which = np.repeat(np.arange(len(order)), np.diff(bounds))
    kept = np.ones(len(which), bool)
    if (empty := spans.start == spans.end).any():
        kept = ~(empty & np.array([wanted[i].skips_empty for i in order])[which])
        spans, which = spans.take(kept), which[kept]
    again = np.zeros(len(which), bool)
    again[:-1] = (which[1:] == which[:-1]) & (spans.owner[1:] == spans.owner[:-1])
    if again.any():
        spans, which = spans.take(~again), which[~again]
    return spans, np.searchsorted(which, np.arange(len(order) + 1)), order


def _known(kind: str) -> str:
    if kind not in KIND_TAGS:
        raise RunFailed(f"an Example has no features of type {kind}")
    return kind


def _groups(kinds: Sequence[str]) -> list[tuple[str, int, int]]:
    """Runs of the same type: the type, its first place and the one behind its last."""
    found = []
    for kind in KIND_TAGS:
        if kind in kinds:
            first = kinds.index(kind)
            found.append((kind, first, first + kinds.count(kind)))
    return found


def _of_kind(
    wire: Wire, spans: Spans, which: Ints, kind: str, wanted: Sequence[Wanted], names: Sequence[str]
) -> Spans:
    wrong = (wire.bytes[np.minimum(spans.start, wire.size)] != KIND_TAGS[kind]) & (spans.end > spans.start)
    if wrong.any():
        at = int(wrong.argmax())
        is_of = _KIND_OF.get(wire.raw[spans.start[at]], "of no known type")
        key = wanted[which[at]].key.decode(errors="replace")
        raise RunFailed(f"{names[spans.owner[at]]}: feature `{key}` is {is_of}; {kind} is expected")
    return spans
