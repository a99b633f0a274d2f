"""Messages of `tf.train`, many at once: their Features by key, and the elements of each, packed or not."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.runtime.ops.io.message_batches import Ints, MalformedMessage, MessageBuffer, Row, Spans, spans_of
from tfport.runtime.ops.shared.arrays import expand_ranges, string_array
from tfport.runtime.ops.strings.fingerprints import PackedStrings, packed_fingerprint64

HASHED = "fingerprint"
"""The type of strings of which only the fingerprints are wanted."""
LIST_TAGS = {HASHED: 0x0A, "string": 0x0A, "float32": 0x12, "int64": 0x1A}
"""The first byte of a Feature of each type."""
_DELIMITED, _FIXED32, _VARINT = 0x0A, 0x0D, 0x08
_LONG = 48
"""Above this average length, copying whole lists is faster than gathering their elements."""


def elements(buffer: MessageBuffer, spans: Spans, dtype: str) -> tuple[Ints, Any]:
    """The number of elements of each Feature, and all elements.

    An empty span has no elements. Any other begins with the byte of its type; bytes after its list
    are ignored, as in TensorFlow.
    """
    parts = _only_parts(buffer, spans, LIST_TAGS[dtype])
    if parts is not None:
        return part_elements(buffer, parts, dtype)
    lists = _lists(buffer, spans)
    if dtype in _READ_STRINGS:
        counts, parts = _string_parts(buffer, lists)
        return counts, _READ_STRINGS[dtype](buffer, parts)
    read, read_unpacked, numpy_type = _READ_NUMBERS[dtype]
    parts = _packed(buffer, lists)
    if parts is None:
        return _unpacked(buffer, lists, read_unpacked, numpy_type)
    return read(buffer, parts)


def part_elements(buffer: MessageBuffer, parts: Spans, dtype: str) -> tuple[Ints, Any]:
    """The same for Features of which the string, or the packed numbers, are known."""
    if dtype in _READ_STRINGS:
        return np.ones(len(parts.owner), np.int64), _READ_STRINGS[dtype](buffer, parts)
    return _READ_NUMBERS[dtype][0](buffer, parts)


def _only_parts(buffer: MessageBuffer, spans: Spans, tag: int) -> Spans | None:
    """One string, or all numbers, of each Feature; None if some Feature is longer or has another form."""
    size = spans.end - spans.start
    if not len(size) or size.min() < 4 or size.max() >= 0x80:
        return None
    expected = (size - 2) << 8 | (size - 4) << 24 | (_DELIMITED << 16 | tag)
    if (buffer.view("<u4")[spans.start] != expected).any():
        return None
    return Spans(spans.owner, spans.start + 4, spans.end)


def _lists(buffer: MessageBuffer, spans: Spans) -> Spans:
    """The list of each Feature."""
    filled = spans.end > spans.start
    size, body = buffer.lengths(spans.start + 1)
    stop = np.where(filled, body + size, spans.end)
    lists = Spans(spans.owner, np.where(filled, body, spans.end), stop)
    _check(lists, stop > spans.end)
    return lists


def _check(spans: Spans, wrong: Any) -> None:
    if wrong.any():
        raise MalformedMessage(int(spans.owner[wrong.argmax()]))


def _string_parts(buffer: MessageBuffer, lists: Spans) -> tuple[Ints, Spans]:
    """The number of strings in each list, and all strings."""
    numbered = Spans(np.arange(len(lists.owner)), lists.start, lists.end)
    try:
        elements = buffer.repeated(numbered, _DELIMITED)
    except MalformedMessage as malformed:
        raise MalformedMessage(int(lists.owner[malformed.owner])) from None
    return np.bincount(elements.owner, minlength=len(lists.owner)), elements


def _strings(buffer: MessageBuffer, parts: Spans) -> Any:
    raw = buffer.raw
    ranges = zip(parts.start.tolist(), parts.end.tolist(), strict=True)
    return string_array([raw[start:end] for start, end in ranges])


def _fingerprints(buffer: MessageBuffer, parts: Spans) -> Any:
    return packed_fingerprint64(PackedStrings(buffer.raw, parts.start, parts.end - parts.start))


def _packed(buffer: MessageBuffer, lists: Spans) -> Spans | None:
    """The spans of the packed elements of each list; None if some list is not packed."""
    filled = lists.end > lists.start
    if (buffer.bytes[lists.start[filled]] != _DELIMITED).any():
        return None
    size, start = buffer.lengths(lists.start + 1)
    stop = np.where(filled, start + size, lists.end)
    _check(lists, stop > lists.end)
    return Spans(lists.owner, np.where(filled, start, lists.end), stop)


def _floats(buffer: MessageBuffer, packed: Spans) -> tuple[Ints, Any]:
    start, counts = packed.start, (packed.end - packed.start) // 4
    if counts.sum() > _LONG * len(counts):
        ranges = zip(counts.tolist(), start.tolist(), strict=True)
        return counts, np.concatenate([np.frombuffer(buffer.raw, "<f4", n, at) for n, at in ranges])
    return counts, buffer.view("<f4")[expand_ranges(start, counts, 4)]


def _integers(buffer: MessageBuffer, packed: Spans) -> tuple[Ints, Any]:
    sizes = packed.end - packed.start
    return _varints(buffer.bytes[expand_ranges(packed.start, sizes, 1)], sizes, packed)


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


_READ_STRINGS = {HASHED: _fingerprints, "string": _strings}
_READ_NUMBERS = {
    "float32": (_floats, _unpacked_floats, np.float32),
    "int64": (_integers, _unpacked_integers, np.int64),
}


# Entries of Features and FeatureLists by key

_FIRST, _SECOND = 0x0A, 0x12
_MASKS = np.array([(1 << (8 * i)) - 1 for i in range(9)], np.uint64)


def top_level(buffer: MessageBuffer, *tags: int) -> list[Spans]:
    """The fields with these tags in each message; other fields are skipped."""
    if tags == (_FIRST,):
        try:
            return [buffer.repeated(buffer.messages, _FIRST)]
        except MalformedMessage:
            pass  # there are other fields, or a message is malformed
    fields: dict[int, list[Row]] = {tag: [] for tag in tags}
    for i, at, end in buffer.messages.rows():
        try:
            while at < end:
                tag, start, at = _any_field(buffer, at, end)
                if tag in fields:
                    fields[tag].append((i, start, at))
        except ValueError:
            raise MalformedMessage(i) from None
    return [spans_of(rows) for rows in fields.values()]


def _any_field(buffer: MessageBuffer, at: int, end: int) -> tuple[int, int, int]:
    """The tag of a field, and the start and end of its value."""
    tag, at = buffer.varint(at, end)
    if tag >> 3 == 0:
        raise ValueError
    match tag & 7:
        case 0:
            stop = buffer.varint(at, end)[1]
        case 1:
            stop = at + 8
        case 2:
            size, at = buffer.varint(at, end)
            stop = at + size
        case 5:
            stop = at + 4
        case _:
            raise ValueError
    if stop > end:
        raise ValueError
    return tag, at, stop


def entries(buffer: MessageBuffer, maps: Spans, keys: Sequence[bytes]) -> tuple[Spans, Ints]:
    """The values of keys, ordered by key, and the bounds of each key's values.

    The values of a key are in the order of the messages; a message may have several.
    """
    pairs = buffer.repeated(maps, _FIRST)
    size, first = buffer.lengths(pairs.start + 1)
    key_end = np.minimum(first + size, buffer.size)
    length, second = buffer.lengths(key_end + 1)
    tags = buffer.bytes[pairs.start], buffer.bytes[key_end]
    wrong = (first + size >= pairs.end) | (second + length != pairs.end)
    wrong |= (tags[0] ^ tags[1] != _FIRST ^ _SECOND) | ((tags[0] != _FIRST) & (tags[0] != _SECOND))
    if wrong.any():
        raise MalformedMessage(int(pairs.owner[wrong.argmax()]))
    if (swapped := tags[0] == _SECOND).any():  # values written before keys
        (first, second), (size, length) = _swap(swapped, first, second), _swap(swapped, size, length)
    which = _key_indices(buffer, first, size, _key_table(tuple(keys)))
    # NumPy has a radix sort for 16 bits
    order = np.argsort(which.astype(np.uint16) if len(keys) < 1 << 16 else which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(len(keys) + 1))
    order = order[: bounds[-1]]
    return Spans(pairs.owner[order], second[order], (second + length)[order]), bounds


def _swap(where: Any, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    return np.where(where, b, a), np.where(where, a, b)


class KeyTable(NamedTuple):
    """Keys as 8-byte words, sorted by hash."""

    hashes: Any
    order: Any
    """The index of each key before sorting."""
    words: Any
    lengths: Any
    masks: Any
    """By word and key length: the mask of the bits that belong to the key."""


@functools.lru_cache(maxsize=64)
def _key_table(keys: tuple[bytes, ...]) -> KeyTable:
    width = max((len(key) for key in keys), default=0) // 8 + 1
    words = np.frombuffer(b"".join(key.ljust(8 * width, b"\0") for key in keys), "<u8").reshape(-1, width).T
    lengths = np.array([len(key) for key in keys], np.int64)
    hashes = _hash(list(words), lengths)
    order = np.argsort(hashes)
    masks = _MASKS[np.clip(np.arange(8 * width + 1) - 8 * np.arange(width)[:, None], 0, 8)]
    return KeyTable(hashes[order], order, words[:, order], lengths[order], masks)


def _hash(words: list[Any], lengths: Any) -> Any:
    hashes = lengths.astype(np.uint64)
    for word in words:
        hashes = (hashes ^ word) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return hashes


def _key_indices(buffer: MessageBuffer, start: Ints, size: Ints, table: KeyTable) -> Ints:
    """The index of the key at each position; the number of keys for an unknown key."""
    none = len(table.order)
    if not none:
        return np.zeros(len(start), np.int64)
    last, shown = len(buffer.words) - 1, np.minimum(size, 8 * len(table.words))
    read = [
        buffer.words[np.minimum(start + 8 * i, last)] & table.masks[i][shown] for i in range(len(table.words))
    ]
    position = np.minimum(np.searchsorted(table.hashes, _hash(read, size)), none - 1)
    same = table.lengths[position] == size
    for i, word in enumerate(read):
        same &= table.words[i][position] == word
    return np.where(same, table.order[position], none)
