"""Reads many protobuf messages at once: one NumPy step for the n-th field of all messages.

A message is a span of a shared buffer; a step computes the spans of fields from those of messages.
When only few messages are left, plain Python is faster and is used instead. As TensorFlow's own
reader of Examples, it accepts only the expected fields, in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Ints: TypeAlias = "NDArray[np.int64]"
Row = tuple[int, int, int]
FEW = 24
"""Up to this many messages are read in plain Python."""
PADDING = 144
"""Bytes after the last message, which are read, and ignored, with the last bytes of a message."""


class MalformedMessage(Exception):
    """The message of `owner` cannot be parsed."""

    def __init__(self, owner: int) -> None:
        super().__init__(owner)
        self.owner = owner


class Spans(NamedTuple):
    """Parts of the buffer: part `i` is from `start[i]` to `end[i]` and belongs to message `owner[i]`."""

    owner: Ints
    start: Ints
    end: Ints

    def rows(self) -> list[Row]:
        return list(zip(self.owner.tolist(), self.start.tolist(), self.end.tolist(), strict=True))

    def take(self, which: Any) -> Spans:
        return Spans(self.owner[which], self.start[which], self.end[which])


def spans_of(rows: list[Row]) -> Spans:
    owner, start, end = np.array(rows, np.int64).reshape(-1, 3).T
    return Spans(owner, start, end)


class MessageBuffer:
    """Messages, concatenated in one buffer."""

    def __init__(self, messages: list[bytes]) -> None:
        self.raw = b"".join((*messages, bytes(PADDING)))
        self.size = len(self.raw) - PADDING
        self.bytes = np.frombuffer(self.raw, np.uint8)
        self.words = self.view("<u8")
        """The eight bytes at each position, as an integer."""
        end = np.cumsum(np.fromiter(map(len, messages), np.int64, len(messages)))
        self.messages = Spans(np.arange(len(end)), np.concatenate([[0], end])[:-1], end)

    def view(self, dtype: str) -> NDArray[Any]:
        """The element of this type at each position, aligned or not."""
        return np.ndarray((len(self.raw) - np.dtype(dtype).itemsize + 1,), dtype, self.raw, strides=(1,))

    def varint(self, at: int, end: int) -> tuple[int, int]:
        """The number at `at`, and its end; ValueError if it does not end before `end`."""
        value = shift = 0
        while at < end and shift < 70:
            byte = self.raw[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, at
            shift += 7
        raise ValueError

    def lengths(self, at: Ints) -> tuple[Ints, Ints]:
        """The length prefixes at these positions, and the starts of the values after them."""
        at = np.minimum(at, self.size)
        value = self.bytes[at].astype(np.int64)
        body = at + 1
        long = np.flatnonzero(value > 0x7F)
        if len(long):
            value[long], body[long] = self._long_lengths(at[long])
        return value, body

    def _long_lengths(self, at: Ints) -> tuple[Ints, Ints]:
        word = self.words[at]
        value, used = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
        more = np.ones(len(at), bool)
        for i in range(5):
            byte = ((word >> np.uint64(8 * i)) & np.uint64(0xFF)).astype(np.int64)
            value += np.where(more, (byte & 0x7F) << (7 * i), 0)
            used += more
            more &= byte > 0x7F
        value[more] = 1 << 62  # longer than any message
        return value, at + used

    def repeated(self, spans: Spans, tag: int) -> Spans:
        """The fields of messages that have only fields with this `tag`."""
        live = np.flatnonzero(spans.start < spans.end)
        at, end = spans.start[live], spans.end[live]
        rounds: list[Spans] = []
        while len(live) > FEW:
            size, body = self.lengths(at + 1)
            stop = body + size
            wrong = (self.bytes[at] != tag) | (stop > end)
            if wrong.any():
                raise MalformedMessage(int(spans.owner[live[wrong.argmax()]]))
            rounds.append(Spans(live, body, stop))
            more = stop < end
            live, at, end = live[more], stop[more], end[more]
        rows: list[Row] = []
        for i, first, last in Spans(live, at, end).rows():
            try:
                self.fields_of(i, first, last, tag, rows)
            except ValueError:
                raise MalformedMessage(int(spans.owner[i])) from None
        fields = _ordered(rounds, rows, len(spans.start))
        return Spans(spans.owner[fields.owner], fields.start, fields.end)

    def fields_of(self, owner: int, at: int, end: int, tag: int, rows: list[Row]) -> None:
        """Append the fields of a message; ValueError if it has another field or is malformed."""
        raw = self.raw
        while at < end:
            if raw[at] != tag:
                raise ValueError
            size = raw[at + 1]
            at += 2
            if size > 0x7F:
                size, at = self.varint(at - 1, end)
            stop = at + size
            if stop > end:
                raise ValueError
            rows.append((owner, at, stop))
            at = stop


def _ordered(rounds: list[Spans], rows: list[Row], messages: int) -> Spans:
    """The fields of the NumPy steps and of the plain Python part, ordered by message."""
    if not rounds:
        return spans_of(rows)
    if len(rounds) == 1 and not rows:
        return rounds[0]
    last = spans_of(rows)
    counts = np.bincount(np.concatenate([r.owner for r in rounds] + [last.owner]), minlength=messages)
    first = np.cumsum(counts) - counts
    out = np.empty((3, int(counts.sum())), np.int64)
    for i, fields in enumerate(rounds):
        out[:, first[fields.owner] + i] = fields
    if rows:  # the rows of a message are consecutive and follow the fields from its rounds
        begin = np.searchsorted(last.owner, last.owner)
        out[:, first[last.owner] + len(rounds) + np.arange(len(rows)) - begin] = last
    return Spans(*out)
