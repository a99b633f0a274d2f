"""The Features of many Examples by key, where the keys have the same order in all of them.

A program writes its Examples alike, though some may lack some keys. So the keys are learned from a few
Examples and then searched for in all of them, one NumPy step for each key. Once they are known,
`short_parts` also guesses the form of the values: one string, or packed numbers, in less than 128 bytes.
Examples in another order are left to `feature_lists.entries`, which reads every key, and reports errors.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.runtime.ops.io.message_batches import FEW, Ints, MessageBuffer, Spans
from tfport.startup.dataclass import dataclass

ENTRY, KEY, VALUE, PART = 0x0A, 0x0A, 0x12, 0x0A
TRIES = 6
"""How often keys are added to an order before it is given up."""
SAMPLES = 16
"""Examples whose keys are added at a time."""
MOST_KEYS = 512


@dataclass
class KeyOrder:
    """The keys of the Examples of earlier batches."""

    keys: tuple[bytes, ...] = ()


@functools.lru_cache(64)
def _order_of(wanted: tuple[bytes, ...]) -> KeyOrder:
    return KeyOrder()


def ordered_entries(buffer: MessageBuffer, maps: Spans, wanted: Sequence[bytes]) -> tuple[Spans, Ints] | None:
    """The values of keys, ordered by key, and the bounds of each key's values; None if orders differ.

    A message has at most one value for a key.
    """
    if len(maps.owner) <= FEW or not (maps.owner[1:] > maps.owner[:-1]).all():
        return None
    known = _order_of(tuple(wanted))
    keys = known.keys
    for _ in range(TRIES):
        values, unread = _walk(buffer, maps, keys, frozenset(wanted))
        if not len(unread):
            known.keys = keys
            return _by_key(values, wanted)
        for message in unread[:: max(len(unread) // SAMPLES, 1)]:
            merged = _merged(keys, _keys_of(buffer, maps, int(message)))
            if merged is None:
                return None
            keys = merged
    return None


def short_parts(
    buffer: MessageBuffer, maps: Spans, wanted: Sequence[bytes], tags: Sequence[int]
) -> tuple[Spans, Ints] | None:
    """One string, or all packed numbers, of the Feature of each key, ordered by key, and each key's bounds.

    A Feature of a wanted key has the byte of its type. None if an Example has another form, or another
    order of keys than those of earlier batches.
    """
    keys = _order_of(tuple(wanted)).keys
    if not keys or len(maps.owner) <= FEW or not (maps.owner[1:] > maps.owner[:-1]).all():
        return None
    number = {key: i for i, key in enumerate(wanted)}
    starts, ends = np.zeros((2, len(wanted), len(maps.owner)), np.int64)
    present = np.zeros(starts.shape, bool)
    at = maps.start
    for key in keys:
        i = number.get(key)
        entry = _short_entry(key, None if i is None else tags[i])
        if entry is None:
            return None
        block = buffer.view(entry.dtype)[at]
        size = block.view(np.uint8).reshape(len(at), -1)[:, entry.length - 1].astype(np.uint64)
        words = block.view("<u8").reshape(len(at), -1)
        start = at + entry.length
        stop = start + size.view(np.int64)
        has_key = (size <= entry.most) & (stop <= maps.end)
        for column, (expected, growth, mask) in enumerate(entry.words):
            word = words[:, column] if mask is None else words[:, column] & mask
            has_key &= word == (expected if growth is None else expected + size * growth)
        if i is not None:
            starts[i], ends[i], present[i] = start, stop, has_key
        at = stop if has_key.all() else np.where(has_key, stop, at)
    if (at < maps.end).any():
        return None
    bounds = np.cumsum([0, *present.sum(1)])
    if present.all():
        return Spans(np.tile(maps.owner, len(wanted)), starts.reshape(-1), ends.reshape(-1)), bounds
    return Spans(maps.owner[np.nonzero(present)[1]], starts[present], ends[present]), bounds


class _ShortEntry(NamedTuple):
    """The bytes before the only part of a Feature."""

    length: int
    dtype: str
    most: Any
    """The largest size of a part that every size before it has one byte for."""
    words: list[tuple[Any, Any, Any]]
    """By eight bytes: for a part of no bytes; how they grow with its size; the mask, unless all count."""


@functools.lru_cache(1024)
def _short_entry(key: bytes, tag: int | None) -> _ShortEntry | None:
    """The beginning of the entry of a key, with a Feature of this type, or any; None if the key is long."""
    n = len(key)
    head = bytes((ENTRY, n + 8, KEY, n)) + key + bytes((VALUE, 4, tag or 0, 2, PART, 0)) if n < 100 else b""
    if not head:
        return None
    growth, mask = bytearray(len(head)), bytearray(b"\xff" * len(head))
    for size_at in (1, n + 5, n + 7, n + 9):
        growth[size_at] = 1
    mask[n + 6] = 0 if tag is None else 0xFF
    words = [np.frombuffer(each.ljust(-(-len(head) // 8) * 8, b"\0"), "<u8") for each in (head, growth, mask)]
    return _ShortEntry(
        len(head),
        f"V{8 * len(words[0])}",
        np.uint64(0x7F - 8 - n),
        [(w, g if g else None, m if ~m else None) for w, g, m in zip(*words, strict=True)],
    )


def _walk(
    buffer: MessageBuffer, maps: Spans, keys: Sequence[bytes], wanted: frozenset[bytes]
) -> tuple[dict[bytes, Spans], Ints]:
    """The values of the wanted keys, and the messages that have entries besides these keys in this order."""
    at, values = maps.start, dict[bytes, Spans]()
    for key in keys:
        head = bytes((KEY, len(key))) + key + bytes((VALUE,))
        size, body = buffer.lengths(at + 1)
        stop, last = body + size, body + len(head)
        if size.max() < 0x80:  # so is the value's length, which has one byte then
            start = last + 1
            has_key = buffer.bytes[np.minimum(last, buffer.size)] == size - len(head) - 1
        else:
            length, start = buffer.lengths(last)
            has_key = start + length == stop
        has_key &= (stop <= maps.end) & (buffer.bytes[at] == ENTRY)
        for words, mask, expected in zip(range(0, len(head), 8), *_as_words(head), strict=True):
            has_key &= (buffer.words[np.minimum(body + words, buffer.size)] & mask) == expected
        if has_key.all():
            spans, at = Spans(maps.owner, start, stop), stop
        else:
            spans, at = Spans(maps.owner, start, stop).take(has_key), np.where(has_key, stop, at)
        if key in wanted:
            values[key] = spans
    return values, np.flatnonzero(at < maps.end)


@functools.lru_cache(1024)
def _as_words(head: bytes) -> tuple[Any, Any]:
    """Bytes as words of eight, and the mask of each."""
    width = -(-len(head) // 8) * 8
    words = np.frombuffer(head.ljust(width, b"\0"), "<u8")
    masks = np.frombuffer((b"\xff" * len(head)).ljust(width, b"\0"), "<u8")
    return list(masks), list(words)


def _by_key(values: dict[bytes, Spans], wanted: Sequence[bytes]) -> tuple[Spans, Ints]:
    none = np.empty(0, np.int64)
    parts = [values.get(key, Spans(none, none, none)) for key in wanted]
    bounds = np.cumsum([0, *(len(part.owner) for part in parts)])
    if not parts:
        return Spans(none, none, none), bounds
    return Spans(*map(np.concatenate, zip(*parts, strict=True))), bounds


def _keys_of(buffer: MessageBuffer, maps: Spans, message: int) -> list[bytes]:
    """The keys of a message in their order; empty if it is unusual or malformed."""
    rows: list[Any] = []
    keys = []
    try:
        buffer.fields_of(message, int(maps.start[message]), int(maps.end[message]), ENTRY, rows)
        for _, start, stop in rows:
            if buffer.raw[start] != KEY:
                return []
            size, first = buffer.varint(start + 1, stop)
            keys.append(buffer.raw[first : first + size])
    except (ValueError, IndexError):
        return []
    return keys


def _merged(order: tuple[bytes, ...], keys: Sequence[bytes]) -> tuple[bytes, ...] | None:
    """An order with more keys; None if these are in another one, or too many."""
    out, at = list(order), 0
    for key in keys:
        if key not in out:
            out.insert(at, key)
        elif out.index(key) < at:
            return None
        at = out.index(key) + 1
    usual = keys and len(out) <= MOST_KEYS and all(len(key) < 0x80 for key in keys)
    return tuple(out) if usual else None
