"""The elements of `tf.train.Feature` messages: lists of bytes, floats or integers, packed or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from tfport.runtime.ops.io.message_batches import Ints, MalformedMessage, MessageBuffer, Row, Spans
from tfport.runtime.ops.shared.arrays import expand_ranges, strings_array

LIST_TAGS = {"string": 0x0A, "float32": 0x12, "int64": 0x1A}
"""The first byte of a Feature of each type."""
_DELIMITED, _FIXED32, _VARINT = 0x0A, 0x0D, 0x08
_LONG = 48
"""Above this average length, copying whole lists is faster than gathering their elements."""


def elements(buffer: MessageBuffer, spans: Spans, dtype: str) -> tuple[Ints, Any]:
    """The number of elements of each Feature, and all elements.

    An empty span has no elements. Any other begins with the byte of its type; bytes after its list
    are ignored, as in TensorFlow.
    """
    filled = spans.end > spans.start
    size, body = buffer.lengths(spans.start + 1)
    stop = np.where(filled, body + size, spans.end)
    lists = Spans(spans.owner, np.where(filled, body, spans.end), stop)
    _check(lists, stop > spans.end)
    return _READ[dtype](buffer, lists)


def _check(spans: Spans, wrong: Any) -> None:
    if wrong.any():
        raise MalformedMessage(int(spans.owner[wrong.argmax()]))


def _strings(buffer: MessageBuffer, lists: Spans) -> tuple[Ints, Any]:
    numbered = Spans(np.arange(len(lists.owner)), lists.start, lists.end)
    try:
        elements = buffer.repeated(numbered, _DELIMITED)
    except MalformedMessage as malformed:
        raise MalformedMessage(int(lists.owner[malformed.owner])) from None
    raw = buffer.raw
    ranges = zip(elements.start.tolist(), elements.end.tolist(), strict=True)
    counts = np.bincount(elements.owner, minlength=len(lists.owner))
    return counts, strings_array([raw[start:end] for start, end in ranges])


def _packed(buffer: MessageBuffer, lists: Spans) -> Spans | None:
    """The spans of the packed elements of each list; None if some list is not packed."""
    filled = lists.end > lists.start
    if (buffer.bytes[lists.start[filled]] != _DELIMITED).any():
        return None
    size, start = buffer.lengths(lists.start + 1)
    stop = np.where(filled, start + size, lists.end)
    _check(lists, stop > lists.end)
    return Spans(lists.owner, np.where(filled, start, lists.end), stop)


def _floats(buffer: MessageBuffer, lists: Spans) -> tuple[Ints, Any]:
    packed = _packed(buffer, lists)
    if packed is None:
        return _unpacked(buffer, lists, _unpacked_floats, np.float32)
    start, counts = packed.start, (packed.end - packed.start) // 4
    if counts.sum() > _LONG * len(counts):
        ranges = zip(counts.tolist(), start.tolist(), strict=True)
        return counts, np.concatenate([np.frombuffer(buffer.raw, "<f4", n, at) for n, at in ranges])
    return counts, buffer.view("<f4")[expand_ranges(start, counts, 4)]


def _integers(buffer: MessageBuffer, lists: Spans) -> tuple[Ints, Any]:
    packed = _packed(buffer, lists)
    if packed is None:
        return _unpacked(buffer, lists, _unpacked_integers, np.int64)
    sizes = packed.end - packed.start
    return _varints(buffer.bytes[expand_ranges(packed.start, sizes, 1)], sizes, lists)


def _varints(data: Any, sizes: Ints, lists: Spans) -> tuple[Ints, Any]:
    """Decode consecutive packed lists."""
    if not len(data):
        return np.zeros(len(sizes), np.int64), np.empty(0, np.int64)
    last = data < 0x80
    ends = np.cumsum(sizes)
    _check(lists, (sizes > 0) & ~last[ends - 1])
    if last.all():
        return sizes, data.astype(np.int64)
    seen = np.concatenate([[0], np.cumsum(last)])
    stop = np.flatnonzero(last)
    start = np.concatenate([[0], stop[:-1] + 1])
    width = stop - start + 1
    widest = int(width.max())
    if widest > 10:
        raise MalformedMessage(int(lists.owner[np.searchsorted(ends, start[width.argmax()], "right")]))
    value = (data[start] & 0x7F).astype(np.uint64)
    for i in range(1, widest):
        more = np.flatnonzero(width > i)
        value[more] |= (data[start[more] + i] & 0x7F).astype(np.uint64) << np.uint64(7 * i)
    return seen[ends] - seen[ends - sizes], value.view(np.int64)


def _unpacked(buffer: MessageBuffer, lists: Spans, read: Any, dtype: Any) -> tuple[Ints, Any]:
    """Decode lists in the old encoding with a tag before each element."""
    parts = []
    for row in lists.rows():
        try:
            parts.append(np.asarray(read(buffer, row), dtype))
        except ValueError:
            raise MalformedMessage(row[0]) from None
    return np.array([len(part) for part in parts], np.int64), np.concatenate(parts)


def _packed_range(buffer: MessageBuffer, row: Row) -> tuple[int, int]:
    size, at = buffer.varint(row[1] + 1, row[2])
    if at + size > row[2]:
        raise ValueError
    return at, at + size


def _unpacked_floats(buffer: MessageBuffer, row: Row) -> Any:
    _, at, end = row
    if at < end and buffer.raw[at] == _DELIMITED:
        at, end = _packed_range(buffer, row)
        return np.frombuffer(buffer.raw, "<f4", (end - at) // 4, at)
    if (end - at) % 5 or set(buffer.raw[at:end:5]) - {_FIXED32}:
        raise ValueError
    return buffer.view("<f4")[np.arange(at + 1, end, 5)]


def _unpacked_integers(buffer: MessageBuffer, row: Row) -> list[int]:
    _, at, end = row
    tagged = at < end and buffer.raw[at] == _VARINT
    if at < end and not tagged:
        if buffer.raw[at] != _DELIMITED:
            raise ValueError
        at, end = _packed_range(buffer, row)
    values = []
    while at < end:
        if tagged:
            if buffer.raw[at] != _VARINT:
                raise ValueError
            at += 1
        value, at = buffer.varint(at, end)
        values.append(value - (1 << 64) if value >> 63 else value)
    return values


_READ = {"string": _strings, "float32": _floats, "int64": _integers}
