"""Where the fields of a protobuf message lie, and where it breaks off.

`walk(data)` lists the top-level fields without reading what is in them: number,
wire type, offset and size. It needs no schema and copies nothing, so that a
mapped file of gigabytes costs what its tags cost. What the fields mean is for
`message` and `recognise`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

Bytes: TypeAlias = bytes | memoryview

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
WIDTH = {FIXED64: 8, FIXED32: 4}
LARGEST = 2**31 - 1
"""No protobuf library reads or writes a message of more bytes than this."""


class Field(NamedTuple):
    """One field: `size` bytes of value from `start` on, the tag (and length) before them."""

    number: int
    wire: int
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Fault:
    """The byte from which on this is no message, and why."""

    at: int
    why: str
    cut: bool = False
    """Whether the data just stops: `why` then says what comes before its subject, `ends within …`."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The fields up to the end of the data, or up to a fault, or as many as were asked for."""

    fields: list[Field]
    fault: Fault | None = None

    @property
    def whole(self) -> bool:
        return self.fault is None


def walk(data: Bytes, most: int | None = None) -> Walk:
    """The top-level fields of a message; at most `most` of them."""
    fields: list[Field] = []
    at = 0
    while at < len(data) and (most is None or len(fields) < most):
        field = read_field(data, at)
        if isinstance(field, Fault):
            return Walk(fields, field)
        fields.append(field)
        at = field.end
    return Walk(fields)


def read_field(data: Bytes, at: int) -> Field | Fault:
    """The field whose tag stands at `at`."""
    tag, start = read_varint(data, at)
    if tag is None:
        return no_varint(data, at, "a field tag")
    number, wire = tag >> 3, tag & 7
    if not 0 < number < 2**29:
        return Fault(at, f"expected a field tag, found field number {number}")
    if wire == VARINT:
        value, end = read_varint(data, start)
        if value is None:
            return no_varint(data, start, f"field {number}")
        return Field(number, wire, start, end - start)
    size: int | None = WIDTH.get(wire)
    if wire == LENGTH:
        size, start = read_varint(data, start)
        if size is None:
            return no_varint(data, start, f"the length of field {number}")
    if size is None:  # groups went out of use before TensorFlow began
        return Fault(at, f"expected a field tag, found wire type {wire}")
    return bounded(Field(number, wire, start, size), at, len(data))


def bounded(field: Field, at: int, end: int) -> Field | Fault:
    """The field, unless it is larger than what holds it."""
    if field.size > LARGEST:
        return Fault(at, f"field {field.number} claims {field.size} bytes, more than any message has")
    if field.end > end:
        return Fault(at, f"ends {count(field.end - end)} before field {field.number} does", cut=True)
    return field


def read_varint(data: Bytes, at: int) -> tuple[int, int] | tuple[None, int]:
    """The number at `at` and where it ends; no number if it does not end in time."""
    value = shift = 0
    for end in range(at, min(at + 10, len(data))):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), end + 1
        shift += 7
    return None, at


def no_varint(data: Bytes, at: int, what: str) -> Fault:
    if len(data) - at < 10:
        return Fault(at, f"ends within {what}", cut=True)
    return Fault(at, f"{what} is a number of more than 10 bytes")


def content(data: Bytes, field: Field) -> memoryview:
    """The bytes of a field's value, where they are."""
    return memoryview(data)[field.start : field.end]


def count(size: int) -> str:
    """`1 byte`, `4096 bytes`."""
    return "1 byte" if size == 1 else f"{size} bytes"
