"""The positions of the fields of a protobuf message, and where it is malformed.

`walk(data)` lists the top-level fields without reading their values: number, wire
type, offset and size. It needs no schema and copies nothing, so that the cost for a
mapped file depends on the number of fields, not on its size. `structure_of(data)` lists
the first fields, for signatures to compare with known messages. `message` parses fields.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from tfport.startup.dataclass import dataclass

Bytes: TypeAlias = bytes | memoryview

VARINT, FIXED64, LENGTH, START_GROUP, END_GROUP, FIXED32 = range(6)
WIDTH = {FIXED64: 8, FIXED32: 4}
LARGEST = 2**31 - 1
"""The largest message that protobuf libraries support."""
Layout = Mapping[int, int]
"""The wire type of each field, by field number."""
INNER_FIELDS = 8


class Field(NamedTuple):
    """A field: its value is `size` bytes at `start`, after the tag (and length)."""

    number: int
    wire: int
    start: int
    size: int

    @property
    def end(self) -> int:
        return self.start + self.size


@dataclass(frozen=True, slots=True)
class Fault:
    """The byte at which a message is malformed, and why."""

    at: int
    why: str
    cut: bool = False
    """Whether the data is truncated; `why` is then a predicate, `ends within …`."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The fields up to the end of the data, to a fault, or to the requested number."""

    fields: list[Field]
    fault: Fault | None = None

    @property
    def is_complete(self) -> bool:
        return self.fault is None


def walk(data: Bytes, most: int | None = None) -> Walk:
    """The top-level fields of a message, at most `most` of them."""
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
    """The field whose tag is at `at`."""
    tag, start = read_varint(data, at)
    if tag is None:
        return bad_varint(data, at, "a field tag")
    number, wire = tag >> 3, tag & 7
    if not 0 < number < 2**29:
        return Fault(at, f"expected a field tag, found field number {number}")
    if wire == VARINT:
        value, end = read_varint(data, start)
        if value is None:
            return bad_varint(data, start, f"field {number}")
        return Field(number, wire, start, end - start)
    size: int | None = WIDTH.get(wire)
    if wire == LENGTH:
        size, start = read_varint(data, start)
        if size is None:
            return bad_varint(data, start, f"the length of field {number}")
    if size is None:  # groups were deprecated before TensorFlow existed
        return Fault(at, f"expected a field tag, found wire type {wire}")
    return bounded(Field(number, wire, start, size), at, len(data))


def bounded(field: Field, at: int, end: int) -> Field | Fault:
    """The field, or a fault if it is larger than the data."""
    if field.size > LARGEST:
        return Fault(at, f"field {field.number} has {field.size} bytes, more than a message can have")
    if field.end > end:
        return Fault(at, f"ends {count(field.end - end)} before field {field.number} does", cut=True)
    return field


def read_varint(data: Bytes, at: int) -> tuple[int, int] | tuple[None, int]:
    """The integer at `at` and where it ends; None if it is too long or cut off."""
    value = shift = 0
    for end in range(at, min(at + 10, len(data))):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), end + 1
        shift += 7
    return None, at


def bad_varint(data: Bytes, at: int, what: str) -> Fault:
    if len(data) - at < 10:
        return Fault(at, f"ends within {what}", cut=True)
    return Fault(at, f"{what} is an integer of more than 10 bytes")


def content(data: Bytes, field: Field) -> memoryview:
    """The value of a field, without a copy."""
    return memoryview(data)[field.start : field.end]


def count(size: int) -> str:
    """`1 byte`, `4096 bytes`."""
    return "1 byte" if size == 1 else f"{size} bytes"


@dataclass(frozen=True, slots=True)
class MessageStructure:
    """The first fields of a message, the field cut off by the end of the data included."""

    data: Bytes
    fields: list[Field]
    fault: Fault | None = None
    """Why the walk stopped before the end of the data, if it did."""

    def wire_types(self) -> dict[int, int]:
        return {f.number: f.wire for f in self.fields}

    def parts(self) -> dict[int, memoryview]:
        """The value of the first field of each number."""
        return {f.number: content(self.data, f) for f in reversed(self.fields)}

    def fits(self, layout: Layout) -> bool:
        """Whether each field has the wire type of the layout; fields with higher numbers may be anything."""
        newest = max(layout)
        return all(layout.get(f.number, f.wire if f.number > newest else None) == f.wire for f in self.fields)


def structure_of(data: Bytes, most: int = INNER_FIELDS) -> MessageStructure:
    """The structure of the message in `data`, up to `most` fields."""
    steps = walk(data, most)
    cut = _cut_field(data, steps.fault.at) if steps.fault and steps.fault.cut else []
    return MessageStructure(data, [*steps.fields, *cut], steps.fault)


def _cut_field(data: Bytes, at: int) -> list[Field]:
    """The field at `at`, cut off where the data ends."""
    tag, start = read_varint(data, at)
    if tag is None or tag & 7 != LENGTH:
        return []
    _, start = read_varint(data, start)
    return [Field(tag >> 3, LENGTH, start, len(data) - start)]


# Variable-length integers with seven bits per byte, as in protobuf and TensorFlow's tables.

_ALL = (1 << 64) - 1


def to_varint(value: int) -> bytes:
    """The bytes of a non-negative integer."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def from_varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """The integer at an offset, and where it ends. ValueError if it does not end."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & _ALL, at
        shift += 7
    raise ValueError("a number that does not end")
