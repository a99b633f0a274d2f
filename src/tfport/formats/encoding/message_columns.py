"""The same fields of many protobuf messages at once, as NumPy arrays.

Messages are spans of one buffer. A step reads the n-th field of all of them, so that a million small
messages take about as many NumPy calls as one message has fields. A field that is a message is a span
again. `wire` reads a single message; `message` parses one with its descriptor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from tfport.formats.encoding.wire import FIXED32, FIXED64, LENGTH, VARINT, from_varint

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.int64]"
MOST_FIELDS = 1_000
"""More fields than this in one message are an error: each takes a step."""
PADDING = 16


class MalformedMessages(Exception):
    """Why a message cannot be read; `at` is its position in the buffer."""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(why)
        self.at, self.why = at, why


class FieldColumn(NamedTuple):
    """One field of all messages: the integer, or where the value starts, and its size."""

    present: NDArray[np.bool_]
    value: Ints
    size: Ints

    def spans(self) -> tuple[Ints, Ints, Ints]:
        """The messages that have the field, and the start and end of its value in each."""
        which = np.flatnonzero(self.present)
        start = self.value[which]
        return which, start, start + self.size[which]


class MessageColumns:
    """A buffer with messages."""

    def __init__(self, data: bytes) -> None:
        self.raw = data + bytes(PADDING)
        self.bytes = np.frombuffer(self.raw, np.uint8)

    def fields(self, start: Ints, end: Ints, wanted: dict[int, int]) -> dict[int, FieldColumn]:
        """The fields with these numbers and wire types, of the messages in these spans.

        The last value of a number counts. A message or an array that is there twice is an error.
        """
        count = len(start)
        columns = {
            number: FieldColumn(np.zeros(count, bool), np.zeros(count, np.int64), np.zeros(count, np.int64))
            for number in wanted
        }
        at = start.astype(np.int64)
        active = np.flatnonzero(at < end)
        for _ in range(MOST_FIELDS):
            if not len(active):
                return columns
            tags = at[active]
            tag, here = self._varints(tags)
            wire = tag & 7
            value, after = here, here
            is_integer, is_span = wire == VARINT, wire == LENGTH
            if is_integer.any():
                integers, ends = self._varints(here)
                value, after = np.where(is_integer, integers, value), np.where(is_integer, ends, after)
            if is_span.any():
                sizes, begins = self._varints(here)
                value = np.where(is_span, begins, value)
                # a size above 2**31 would overflow; it is past every end
                after = np.where(is_span, begins + np.clip(sizes, 0, 1 << 31), after)
                if (is_span & (sizes < 0)).any():
                    raise MalformedMessages(int(tags[is_span & (sizes < 0)][0]), "the length is negative")
            after = after + np.where(wire == FIXED32, 4, 0) + np.where(wire == FIXED64, 8, 0)
            known = is_integer | is_span | (wire == FIXED32) | (wire == FIXED64)
            if not known.all() or (after > end[active]).any():
                wrong = ~known | (after > end[active])
                raise MalformedMessages(int(tags[wrong][0]), "the field does not end within its message")
            self._store(columns, wanted, tag, active, value, after, tags)
            at[active] = after
            active = active[after < end[active]]
        raise MalformedMessages(int(at[active[0]]), f"a message has more than {MOST_FIELDS} fields")

    @staticmethod
    def _store(
        columns: dict[int, FieldColumn],
        wanted: dict[int, int],
        tag: Ints,
        active: Ints,
        value: Ints,
        after: Ints,
        tags: Ints,
    ) -> None:
        for number, wire in wanted.items():
            same = (tag >> 3) == number
            if not same.any():
                continue
            column, which = columns[number], active[same]
            wrong = (tag[same] & 7) != wire
            if wire == LENGTH:
                wrong |= column.present[which]
            if wrong.any():
                raise MalformedMessages(int(tags[same][wrong][0]), f"field {number} has an unexpected form")
            column.present[which] = True
            column.value[which] = value[same]
            column.size[which] = after[same] - value[same]

    def _varints(self, at: Ints) -> tuple[Ints, Ints]:
        """The integers at these positions, and where they end."""
        byte = self.bytes[np.minimum(at, len(self.bytes) - 1)].astype(np.int64)
        value, end = byte & 127, at + 1
        more, shift = np.flatnonzero(byte > 127), 7
        while len(more):
            if shift > 63:
                raise MalformedMessages(int(at[more[0]]), "an integer has more than 10 bytes")
            byte = self.bytes[np.minimum(end[more], len(self.bytes) - 1)].astype(np.int64)
            value[more] |= (byte & 127) << shift
            end[more] += 1
            more, shift = more[byte > 127], shift + 7
        return value, end

    def numbers(self, at: Ints, dtype: Any) -> NDArray[Any]:
        """The little-endian numbers at these positions."""
        kind = np.dtype(dtype).newbyteorder("<")
        size = len(self.raw) - kind.itemsize + 1
        return np.ndarray((size,), kind, self.raw, strides=(1,))[at].astype(dtype)

    def integers(self, start: int, end: int) -> list[int]:
        """The packed integers between two positions."""
        part = self.raw[start:end]
        if part.isascii():  # each is one byte
            return list(part)
        out, at = [], 0
        while at < len(part):
            try:
                value, at = from_varint(part, at)
            except ValueError:
                raise MalformedMessages(start, "a number does not end within its field") from None
            out.append(value)
        return out
