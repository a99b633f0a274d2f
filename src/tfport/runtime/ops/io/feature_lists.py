"""The elements of `tf.train.Feature` messages: lists of bytes, floats or integers, packed or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.ops.io.message_batches import Broken, Ints, Row, Spans, Wire

KIND_TAGS = {"string": 0x0A, "float32": 0x12, "int64": 0x1A}
"""The byte with which a Feature of each type begins."""
_DELIMITED, _FIXED32, _VARINT = 0x0A, 0x0D, 0x08
_LONG = 48
"""From so many elements each, copying a list at once beats collecting its elements."""


def elements(wire: Wire, spans: Spans, kind: str) -> tuple[Ints, Any]:
    """How many elements each Feature has, and all of them.

    A span without a byte has no elements. Any other begins with the byte of its type;
    what follows its list is left alone, as TensorFlow does.
    """
    there = spans.end > spans.start
    size, body = wire.lengths(spans.start + 1)
    stop = np.where(there, body + size, spans.end)
    lists = Spans(spans.owner, np.where(there, body, spans.end), stop)
    _refuse(lists, stop > spans.end)
    return _READ[kind](wire, lists)


def strings_array(values: list[bytes]) -> Any:
    out = np.empty(len(values), object)
    out[:] = values
    return out


def places_of(start: Any, counts: Any, step: int) -> Any:
    """`start[i]`, `start[i] + step`, … as many as `counts[i]`, for each i in turn."""
    if len(counts) and (counts == counts[0]).all():
        return (start[:, None] + np.arange(counts[0]) * step).reshape(-1)
    before = np.cumsum(counts) - counts
    return np.repeat(start - before * step, counts) + np.arange(counts.sum()) * step


def _refuse(spans: Spans, wrong: Any) -> None:
    if wrong.any():
        raise Broken(int(spans.owner[wrong.argmax()]))


def _strings(wire: Wire, lists: Spans) -> tuple[Ints, Any]:
    numbered = Spans(np.arange(len(lists.owner)), lists.start, lists.end)
    try:
        found = wire.repeated(numbered, _DELIMITED)
    except Broken as broken:
        raise Broken(int(lists.owner[broken.owner])) from None
    raw = wire.raw
    places = zip(found.start.tolist(), found.end.tolist(), strict=True)
    counts = np.bincount(found.owner, minlength=len(lists.owner))
    return counts, strings_array([raw[start:end] for start, end in places])


def _packed(wire: Wire, lists: Spans) -> Spans | None:
    """Where the packed elements of each list lie; None where some list is not packed."""
    filled = lists.end > lists.start
    if (wire.bytes[lists.start[filled]] != _DELIMITED).any():
        return None
    size, start = wire.lengths(lists.start + 1)
    stop = np.where(filled, start + size, lists.end)
    _refuse(lists, stop > lists.end)
    return Spans(lists.owner, np.where(filled, start, lists.end), stop)


def _floats(wire: Wire, lists: Spans) -> tuple[Ints, Any]:
    packed = _packed(wire, lists)
    if packed is None:
        return _one_by_one(wire, lists, _unpacked_floats, np.float32)
    start, counts = packed.start, (packed.end - packed.start) // 4
    if counts.sum() > _LONG * len(counts):
        places = zip(counts.tolist(), start.tolist(), strict=True)
        return counts, np.concatenate([np.frombuffer(wire.raw, "<f4", n, at) for n, at in places])
    return counts, wire.view("<f4")[places_of(start, counts, 4)]


def _integers(wire: Wire, lists: Spans) -> tuple[Ints, Any]:
    packed = _packed(wire, lists)
    if packed is None:
        return _one_by_one(wire, lists, _unpacked_integers, np.int64)
    sizes = packed.end - packed.start
    return _varints(wire.bytes[places_of(packed.start, sizes, 1)], sizes, lists)


def _varints(data: Any, sizes: Ints, lists: Spans) -> tuple[Ints, Any]:
    """The numbers in packed lists that lie behind each other."""
    if not len(data):
        return np.zeros(len(sizes), np.int64), np.empty(0, np.int64)
    last = data < 0x80
    ends = np.cumsum(sizes)
    _refuse(lists, (sizes > 0) & ~last[ends - 1])
    if last.all():
        return sizes, data.astype(np.int64)
    seen = np.concatenate([[0], np.cumsum(last)])
    stop = np.flatnonzero(last)
    start = np.concatenate([[0], stop[:-1] + 1])
    width = stop - start + 1
    widest = int(width.max())
    if widest > 10:
        raise Broken(int(lists.owner[np.searchsorted(ends, start[width.argmax()], "right")]))
    value = (data[start] & 0x7F).astype(np.uint64)
    for i in range(1, widest):
        more = np.flatnonzero(width > i)
        value[more] |= (data[start[more] + i] & 0x7F).astype(np.uint64) << np.uint64(7 * i)
    return seen[ends] - seen[ends - sizes], value.view(np.int64)


def _one_by_one(wire: Wire, lists: Spans, read: Any, kind: Any) -> tuple[Ints, Any]:
    """For what nobody writes any more: a tag before each element."""
    parts = []
    for row in lists.rows():
        try:
            parts.append(np.asarray(read(wire, row), kind))
        except ValueError:
            raise Broken(row[0]) from None
    return np.array([len(part) for part in parts], np.int64), np.concatenate(parts)


def _within(wire: Wire, row: Row) -> tuple[int, int]:
    size, at = wire.varint(row[1] + 1, row[2])
    if at + size > row[2]:
        raise ValueError
    return at, at + size


def _unpacked_floats(wire: Wire, row: Row) -> Any:
    _, at, end = row
    if at < end and wire.raw[at] == _DELIMITED:
        at, end = _within(wire, row)
        return np.frombuffer(wire.raw, "<f4", (end - at) // 4, at)
    if (end - at) % 5 or set(wire.raw[at:end:5]) - {_FIXED32}:
        raise ValueError
    return wire.view("<f4")[np.arange(at + 1, end, 5)]


def _unpacked_integers(wire: Wire, row: Row) -> list[int]:
    _, at, end = row
    tagged = at < end and wire.raw[at] == _VARINT
    if at < end and not tagged:
        if wire.raw[at] != _DELIMITED:
            raise ValueError
        at, end = _within(wire, row)
    found = []
    while at < end:
        if tagged:
            if wire.raw[at] != _VARINT:
                raise ValueError
            at += 1
        value, at = wire.varint(at, end)
        found.append(value - (1 << 64) if value >> 63 else value)
    return found


_READ = {"string": _strings, "float32": _floats, "int64": _integers}
