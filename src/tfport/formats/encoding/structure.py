"""The structure of a protobuf message: which fields it has, without a schema and without parsing it.

Signatures compare this structure with that of the messages they look for. What a field looks
like on the wire is known to `wire`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tfport.formats.encoding.wire import LENGTH, Bytes, Fault, Field, content, read_varint, walk

Layout = Mapping[int, int]
"""The wire type of each field, by field number."""
INNER_FIELDS = 8


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
    """The field at `at`, as far as the data goes."""
    tag, start = read_varint(data, at)
    if tag is None or tag & 7 != LENGTH:
        return []
    _, start = read_varint(data, start)
    return [Field(tag >> 3, LENGTH, start, len(data) - start)]
