"""Encode tables as a flatbuffer by the schema: the inverse of `flatbuffer_read`.

Tables come before what they refer to, so that all offsets point forward. Fields with their default are
left out, equal vtables are shared.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error
from tfport.formats.lite.schema import Schema, TableField

LARGEST = 2**31 - 1
ALIGNED = {("Buffer", "data"): 16, ("CustomQuantization", "custom"): 16, ("Uint16Vector", "values"): 4,
           ("Uint8Vector", "values"): 4}  # fmt: skip
"""The vectors whose elements must begin at a multiple of this many bytes."""


class FlatbufferWriter:
    """Collects the bytes of one file."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.out = bytearray()
        self._vtables: dict[bytes, int] = {}

    def file(self, table: str, fields: Mapping[str, Any], identifier: bytes) -> bytes:
        """A whole file."""
        self.out += struct.pack("<I4s", 0, identifier)
        self._point(0, self._table(table, fields))
        if len(self.out) > LARGEST:
            raise Error(f"the file would have {len(self.out):,} bytes; a flatbuffer has at most {LARGEST:,}")
        return bytes(self.out)

    def _table(self, table: str, fields: Mapping[str, Any]) -> int:
        present = [
            (slot, field, fields[field.name])
            for slot, field in enumerate(self.schema.tables[table])
            if fields.get(field.name) is not None and fields[field.name] != field.default
        ]
        slots = [0] * (max((slot for slot, *_ in present), default=-1) + 1)
        size, widest = 4, 4
        for slot, field, _ in sorted(present, key=lambda entry: -_width(entry[1])):
            width = _width(field)
            size = _round_up(size, width)
            slots[slot], size, widest = size, size + width, max(widest, width)
        vtable = struct.pack(f"<{len(slots) + 2}H", 4 + 2 * len(slots), size, *slots)
        if vtable not in self._vtables:
            self._pad(2)
            self._vtables[vtable] = len(self.out)
            self.out += vtable
        self._pad(widest)
        at = len(self.out)
        self.out += struct.pack("<i", at - self._vtables[vtable]) + bytes(size - 4)
        for slot, field, value in present:
            self._field(at + slots[slot], table, field, value, fields)
        return at

    def _field(self, at: int, table: str, field: TableField, value: Any, fields: Mapping[str, Any]) -> None:
        match field.kind:
            case "scalar" | "enum":
                if field.type == "utype" and isinstance(value, str):
                    value = self._union_number(table, field, value)
                number = self.schema.enums[field.type].numbers[value] if isinstance(value, str) else value
                struct.pack_into(f"<{field.code}", self.out, at, number)
            case "string":
                self._point(at, self._vector(value.encode(), 1, 4, ends_with_zero=True))
            case "table":
                self._point(at, self._table(field.type, value))
            case "scalars":
                data = value if isinstance(value, bytes | memoryview) else self._packed(field, value)
                width = struct.calcsize(f"<{field.code}")
                alignment = ALIGNED.get((table, field.name), max(4, width))
                self._point(at, self._vector(data, width, alignment))
            case "tables":
                self._point(at, self._vector_of_tables(field.type, value))
            case _:
                self._point(at, self._table(fields[f"{field.name}_type"], value))

    def _union_number(self, table: str, field: TableField, name: str) -> int:
        value_name = field.name.removesuffix("_type")
        union = next(f.type for f in self.schema.tables[table] if f.name == value_name)
        return self.schema.unions[union].index(name)

    def _packed(self, field: TableField, value: Sequence[Any]) -> bytes:
        return bytes(value) if field.code == "B" else struct.pack(f"<{len(value)}{field.code}", *value)

    def _vector(
        self, data: bytes | memoryview, width: int, alignment: int, *, ends_with_zero: bool = False
    ) -> int:
        self._pad(alignment, ahead=4)
        at = len(self.out)
        self.out += struct.pack("<I", len(data) // width)
        self.out += data
        self.out += b"\0" if ends_with_zero else b""
        return at

    def _vector_of_tables(self, table: str, rows: Sequence[Mapping[str, Any]]) -> int:
        self._pad(4)
        at = len(self.out)
        self.out += struct.pack("<I", len(rows)) + bytes(4 * len(rows))
        for i, row in enumerate(rows):
            self._point(at + 4 + 4 * i, self._table(table, row))
        return at

    def _point(self, at: int, target: int) -> None:
        struct.pack_into("<I", self.out, at, target - at)

    def _pad(self, alignment: int, ahead: int = 0) -> None:
        """Add zeros, so that what comes `ahead` bytes later is aligned."""
        self.out += bytes(-(len(self.out) + ahead) % alignment)


def _width(field: TableField) -> int:
    return struct.calcsize(f"<{field.code}") if field.kind in ("scalar", "enum") else 4


def _round_up(size: int, width: int) -> int:
    return -(-size // width) * width
