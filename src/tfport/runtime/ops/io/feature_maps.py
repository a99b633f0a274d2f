"""Entries of `tf.train.Features` and `FeatureLists` by key, for many messages at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.runtime.ops.io.message_batches import Ints, MalformedMessage, MessageBuffer, Row, Spans, spans_of

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
