"""Decode and encode the tables of a flatbuffer by the schema, within bounds.

A table becomes a dict of the fields that it has; a union the dict of its table, with the name of the table
in the field `…_type`; an enum its name, or its number if the schema does not know it; a vector of numbers
a tuple, one of bytes a view of the file. Nothing is trusted: every offset is checked, and the number and
the depth of tables are limited as in TensorFlow Lite's own verifier.
When tables are encoded, they come before what they refer to, so that all offsets point forward. Fields with
their default are left out, equal vtables are shared.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from tfport.errors import Error, UnreadableFile
from tfport.formats.lite.schema import Schema, TableField

Fields = dict[str, Any]
"""The fields of a table."""
MOST_TABLES = 1_000_000
DEEPEST = 64
_U16, _I32, _U32 = struct.Struct("<H"), struct.Struct("<i"), struct.Struct("<I")
_WIDTH = {code: struct.calcsize(f"<{code}") for code in "?bBhHiIqQfd"}


class FlatbufferReader:
    """Decodes tables of one file."""

    def __init__(self, data: memoryview, schema: Schema, where: str) -> None:
        self.data, self.schema, self.where = data, schema, where
        self.unknown_fields: list[str] = []
        """The tables with a field that the schema does not have: a newer version wrote them."""
        self._tables = 0
        self._elements = 0

    def root(self, table: str) -> Fields:
        """The table that the file begins with."""
        return self._table(self._offset(0), table, 0)

    def _table(self, at: int, table: str, depth: int) -> Fields:
        self._tables += 1
        if self._tables > MOST_TABLES:
            raise self.damaged(at, f"more than {MOST_TABLES:,} tables")
        if depth > DEEPEST:
            raise self.damaged(at, f"tables are nested deeper than {DEEPEST}")
        vtable = at - self._number(_I32, at)
        size = self._number(_U16, vtable)
        if size < 4 or size % 2 or vtable + size > len(self.data):
            raise self.damaged(vtable, f"a vtable of {size} bytes")
        slots = struct.unpack_from(f"<{size // 2 - 2}H", self.data, vtable + 4)
        fields = self.schema.tables[table]
        if any(slots[len(fields) :]):
            self.unknown_fields.append(table)
        read: Fields = {}
        for field, slot in zip(fields, slots, strict=False):
            if slot:
                read[field.name] = self._field(at + slot, field, read, depth)
        return read

    def _field(self, at: int, field: TableField, before: Fields, depth: int) -> Any:
        match field.kind:
            case "scalar" | "enum":
                number = self._number(struct.Struct(f"<{field.code}"), at)
                return (
                    self.schema.enums[field.type].names.get(number, number)
                    if field.kind == "enum"
                    else number
                )
            case "string":
                return self._string(at)
            case "strings":
                count = len(self._vector(at, 4)) // 4
                self._count(count, at)
                start = self._offset(at) + 4
                return tuple(self._string(start + 4 * i) for i in range(count))
            case "table":
                return self._table(self._offset(at), field.type, depth + 1)
            case "scalars":
                return self._scalars(at, field)
            case "tables":
                return self._vector_of_tables(at, field.type, depth)
            case _:
                return self._union(at, field, before, depth)

    def _string(self, at: int) -> str:
        return bytes(self._vector(at, 1)).decode("utf-8", "replace")

    def _union(self, at: int, field: TableField, before: Fields, depth: int) -> Fields:
        names, number = self.schema.unions[field.type], before.get(f"{field.name}_type", 0)
        if not 0 < number < len(names):
            self.unknown_fields.append(f"{field.type} {number}")
            return {}
        before[f"{field.name}_type"] = names[number]
        return self._table(self._offset(at), names[number], depth + 1)

    def _scalars(self, at: int, field: TableField) -> Any:
        width = _WIDTH[field.code]
        content = self._vector(at, width)
        if field.code == "B":
            return content
        self._count(len(content) // width, at)
        return struct.unpack(f"<{len(content) // width}{field.code}", content)

    def _vector_of_tables(self, at: int, table: str, depth: int) -> list[Fields]:
        content = self._vector(at, 4)
        start, count = self._offset(at) + 4, len(content) // 4
        self._count(count, at)
        return [self._table(self._offset(start + 4 * i), table, depth + 1) for i in range(count)]

    def _count(self, count: int, at: int) -> None:
        """Limit what hostile files can make of bytes that several vectors share."""
        self._elements += count
        if self._elements > max(len(self.data), 1 << 20):
            raise self.damaged(at, "vectors with more elements than the file has bytes")

    def _vector(self, at: int, width: int) -> memoryview:
        start = self._offset(at)
        count = self._number(_U32, start)
        if start + 4 + count * width > len(self.data):
            raise self.damaged(start, f"a vector of {count:,} elements ends after the file")
        return self.data[start + 4 : start + 4 + count * width]

    def _offset(self, at: int) -> int:
        """Where an offset points to."""
        target: int = at + self._number(_U32, at)
        if target == at or target + 4 > len(self.data):
            raise self.damaged(at, "an offset points outside of the file")
        return target

    def _number(self, code: struct.Struct, at: int) -> Any:
        if at < 0 or at + code.size > len(self.data):
            raise self.damaged(at, "it needs bytes outside of the file")
        return code.unpack_from(self.data, at)[0]

    def damaged(self, at: int, why: str) -> UnreadableFile:
        """An error for bytes that do not follow the format."""
        return UnreadableFile(
            f"{self.where}, byte {max(at, 0)}: the TensorFlow Lite file is damaged: {why}; "
            "copy or convert it again"
        )


# Encode tables.

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
