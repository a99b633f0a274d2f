"""The entries of `tf.train.Features` and `FeatureLists` that somebody asks for, of many messages at once."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tfport.runtime.ops.io.message_batches import Broken, Ints, Row, Spans, Wire, spans_of

_FIRST, _SECOND = 0x0A, 0x12
_MASKS = np.array([(1 << (8 * i)) - 1 for i in range(9)], np.uint64)


def top_level(wire: Wire, *tags: int) -> list[Spans]:
    """The fields with these tags of every message; others are skipped."""
    if tags == (_FIRST,):
        try:
            return [wire.repeated(wire.messages, _FIRST)]
        except Broken:
            pass  # there are other fields, or it is no message at all
    found: dict[int, list[Row]] = {tag: [] for tag in tags}
    for i, at, end in wire.messages.rows():
        try:
            while at < end:
                tag, start, at = _any_field(wire, at, end)
                if tag in found:
                    found[tag].append((i, start, at))
        except ValueError:
            raise Broken(i) from None
    return [spans_of(rows) for rows in found.values()]


def _any_field(wire: Wire, at: int, end: int) -> tuple[int, int, int]:
    """The tag of a field, and where its value begins and ends."""
    tag, at = wire.varint(at, end)
    if tag >> 3 == 0:
        raise ValueError
    match tag & 7:
        case 0:
            stop = wire.varint(at, end)[1]
        case 1:
            stop = at + 8
        case 2:
            size, at = wire.varint(at, end)
            stop = at + size
        case 5:
            stop = at + 4
        case _:
            raise ValueError
    if stop > end:
        raise ValueError
    return tag, at, stop


def entries(wire: Wire, maps: Spans, keys: Sequence[bytes]) -> tuple[Spans, Ints]:
    """The values that messages have for keys, and where those of each key begin, and the last end.

    Those of one key come in the order of the messages; a message may have several.
    """
    found = wire.repeated(maps, _FIRST)
    size, first = wire.lengths(found.start + 1)
    behind = np.minimum(first + size, wire.size)
    length, second = wire.lengths(behind + 1)
    tags = wire.bytes[found.start], wire.bytes[behind]
    wrong = (first + size >= found.end) | (second + length != found.end)
    wrong |= (tags[0] ^ tags[1] != _FIRST ^ _SECOND) | ((tags[0] != _FIRST) & (tags[0] != _SECOND))
    if wrong.any():
        raise Broken(int(found.owner[wrong.argmax()]))
    if (swapped := tags[0] == _SECOND).any():  # the value before the key
        (first, second), (size, length) = _swap(swapped, first, second), _swap(swapped, size, length)
    which = _numbered(wire, first, size, _table(tuple(keys)))
    # numpy sorts 16 bits by radix
    order = np.argsort(which.astype(np.uint16) if len(keys) < 1 << 16 else which, kind="stable")
    bounds = np.searchsorted(which[order], np.arange(len(keys) + 1))
    order = order[: bounds[-1]]
    return Spans(found.owner[order], second[order], (second + length)[order]), bounds


def _swap(where: Any, a: Ints, b: Ints) -> tuple[Ints, Ints]:
    return np.where(where, b, a), np.where(where, a, b)


class Table(NamedTuple):
    """Keys as words, in the order of their hashes."""

    hashes: Any
    order: Any
    """The number of each key."""
    words: Any
    lengths: Any
    masks: Any
    """For each word and length of a key the bits of the word that belong to it."""


@functools.lru_cache(maxsize=64)
def _table(keys: tuple[bytes, ...]) -> Table:
    width = max((len(key) for key in keys), default=0) // 8 + 1
    words = np.frombuffer(b"".join(key.ljust(8 * width, b"\0") for key in keys), "<u8").reshape(-1, width).T
    lengths = np.array([len(key) for key in keys], np.int64)
    hashes = _hash(list(words), lengths)
    order = np.argsort(hashes)
    masks = _MASKS[np.clip(np.arange(8 * width + 1) - 8 * np.arange(width)[:, None], 0, 8)]
    return Table(hashes[order], order, words[:, order], lengths[order], masks)


def _hash(words: list[Any], lengths: Any) -> Any:
    found = lengths.astype(np.uint64)
    for word in words:
        found = (found ^ word) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def _numbered(wire: Wire, start: Ints, size: Ints, table: Table) -> Ints:
    """The number of the key that stands at each place; one more than the last for any other."""
    none = len(table.order)
    if not none:
        return np.zeros(len(start), np.int64)
    last, shown = len(wire.words) - 1, np.minimum(size, 8 * len(table.words))
    read = [
        wire.words[np.minimum(start + 8 * i, last)] & table.masks[i][shown] for i in range(len(table.words))
    ]
    place = np.minimum(np.searchsorted(table.hashes, _hash(read, size)), none - 1)
    same = table.lengths[place] == size
    for i, word in enumerate(read):
        same &= table.words[i][place] == word
    return np.where(same, table.order[place], none)
