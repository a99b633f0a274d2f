"""A few Examples read one by one in plain Python: for so little, NumPy costs more than it saves.

Only what is usual is read here: packed lists, keys before values, no types but those asked for.
Anything else is `Unusual`, and left to `_feature_columns`, which reads all and says what is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tfport.runtime.ops.io.feature_columns import Wanted
from tfport.runtime.ops.io.feature_lists import KIND_TAGS

Cell = tuple[int, int] | None
"""Where a Feature begins and ends; None where an Example has none."""


class Unusual(IndexError):
    """This is not for here; so is what ends too early, hence the kind of error."""


def cells(raw: bytes, places: dict[bytes, int], skips_empty: Sequence[bool]) -> list[Cell]:
    """The Feature that an Example has for each key: of several the last."""
    found: list[Cell] = [None] * len(skips_empty)
    at, end = 0, len(raw)
    while at < end:
        tag = raw[at]
        if tag == 0x0A:
            at, stop = _sized(raw, at + 1, end)
            _entries(raw, at, stop, places, skips_empty, found)
            at = stop
        elif tag < 0x80 and tag > 7 and not tag & 7:  # another field, of a number
            at = _behind(raw, at + 1, end)
        else:
            raise Unusual
    return found


def _entries(
    raw: bytes, at: int, stop: int, places: dict[bytes, int], skips_empty: Sequence[bool], found: list[Cell]
) -> None:
    get = places.get
    while at < stop:
        if raw[at] != 0x0A:
            raise Unusual
        last = at + 2 + raw[at + 1]
        if raw[at + 1] < 0x80 and last <= stop:
            at += 2
        else:
            at, last = _sized(raw, at + 1, stop)
        first = at + 2
        if first > last or raw[at] != 0x0A or raw[at + 1] > 0x7F:
            raise Unusual
        behind = first + raw[at + 1]
        if behind + 2 > last or raw[behind] != 0x12:
            raise Unusual
        at = behind + 2
        if raw[behind + 1] > 0x7F or at + raw[behind + 1] != last:
            at, end = _sized(raw, behind + 1, last)
            if end != last:
                raise Unusual
        place = get(raw[first:behind])
        if place is not None and not (at == last and skips_empty[place]):
            found[place] = (at, last)
        at = last


def _sized(raw: bytes, at: int, end: int) -> tuple[int, int]:
    """Where that begins and ends whose length stands here."""
    if at >= end:
        raise Unusual
    size = raw[at]
    at += 1
    if size > 0x7F:
        size &= 0x7F
        for shift in (7, 14, 21):
            if at >= end:
                raise Unusual
            byte = raw[at]
            at += 1
            size |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        else:
            raise Unusual
    if at + size > end:
        raise Unusual
    return at, at + size


def _behind(raw: bytes, at: int, end: int) -> int:
    for stop in range(at, min(at + 10, end)):
        if raw[stop] < 0x80:
            return stop + 1
    raise Unusual


def strings(raw: bytes, cell: Cell, into: list[bytes]) -> int:
    """Append the strings of a Feature; how many there are."""
    at, end = _list(raw, cell, 0x0A)
    count = 0
    while at < end:
        if raw[at] != 0x0A:
            raise Unusual
        stop = at + 2 + raw[at + 1]
        if raw[at + 1] < 0x80 and stop <= end:
            at += 2
        else:
            at, stop = _sized(raw, at + 1, end)
        into.append(raw[at:stop])
        count += 1
        at = stop
    return count


def floats(raw: bytes, cell: Cell, into: list[bytes]) -> int:
    """Append the floats of a Feature as they lie there; how many there are."""
    at, end = _packed(raw, cell, 0x12)
    count = (end - at) // 4
    into.append(raw[at : at + 4 * count])
    return count


def integers(raw: bytes, cell: Cell, into: list[int]) -> int:
    """Append the integers of a Feature; how many there are."""
    at, end = _packed(raw, cell, 0x1A)
    count = 0
    while at < end:
        value = raw[at]
        stop = at + 1
        if value > 0x7F:
            stop = _behind(raw, at, end)
            value = sum((raw[i] & 0x7F) << (7 * (i - at)) for i in range(at, stop)) & 0xFFFFFFFFFFFFFFFF
            value -= (value >> 63) << 64
        into.append(value)
        count += 1
        at = stop
    return count


def _list(raw: bytes, cell: Cell, tag: int) -> tuple[int, int]:
    """Where the list of a Feature begins and ends; what follows it is left alone, as TensorFlow does."""
    if cell is None or cell[0] == cell[1]:
        return 0, 0
    if raw[cell[0]] != tag:
        raise Unusual
    return _sized(raw, cell[0] + 1, cell[1])


def _packed(raw: bytes, cell: Cell, tag: int) -> tuple[int, int]:
    at, end = _list(raw, cell, tag)
    if at == end:
        return at, at
    if raw[at] != 0x0A:
        raise Unusual
    return _sized(raw, at + 1, end)


class FewColumns:
    """The wanted features of a few Examples: for each, how many elements every Example has, and all of them.

    Columns of one type lie behind each other in one array.
    """

    def __init__(self, wanted: Sequence[Wanted]) -> None:
        self.kinds = [one.kind for one in wanted]
        self._places = {one.key: i for i, one in enumerate(wanted)}
        self._skips_empty = [one.skips_empty for one in wanted]
        self.possible = len(self._places) == len(wanted) and all(kind in KIND_TAGS for kind in self.kinds)

    def read(self, messages: Sequence[bytes]) -> tuple[list[list[Cell]], list[list[int]], list[Any]]:
        """By column: where each Example has it, how many elements, and the elements."""
        read = [cells(raw, self._places, self._skips_empty) for raw in messages]
        texts: list[bytes] = []
        packed: list[bytes] = []
        numbers: list[int] = []
        there, counts = [], []
        for i, kind in enumerate(self.kinds):
            column = [row[i] for row in read]
            there.append(column)
            pairs = zip(messages, column, strict=True)
            if kind == "string":
                counts.append([strings(raw, cell, texts) for raw, cell in pairs])
            elif kind == "float32":
                counts.append([floats(raw, cell, packed) for raw, cell in pairs])
            else:
                counts.append([integers(raw, cell, numbers) for raw, cell in pairs])
        objects = np.empty(len(texts), object)
        objects[:] = texts
        flat = {
            "string": objects,
            "float32": np.frombuffer(bytearray().join(packed), "<f4"),  # of its own bytes, and writeable
            "int64": np.array(numbers, np.int64),
        }
        used = dict.fromkeys(flat, 0)
        values = []
        for kind, each in zip(self.kinds, counts, strict=True):
            first = used[kind]
            used[kind] = last = first + sum(each)
            values.append(flat[kind][first:last])
        return there, counts, values
