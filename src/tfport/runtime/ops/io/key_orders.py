"""The Features of many Examples by key, where the keys have the same order in all of them.

A program writes its Examples alike, though some may lack some keys. So the keys are learned from a few
Examples and then searched for in all of them, one NumPy step for each key. Examples in another order are left
to `feature_lists.entries`, which reads every key, and reports errors.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.runtime.ops.io.message_batches import FEW, Ints, MessageBuffer, Spans
from tfport.startup.dataclass import dataclass

ENTRY, KEY, VALUE = 0x0A, 0x0A, 0x12
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
