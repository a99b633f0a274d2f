"""MLIR's bytecode as operations, for programs of StableHLO: what XlaCallModule holds.

The file is a list of sections: strings, names of ops, a table of attributes and types, and operations that
refer to these by number. Attributes and types are left as bytes until something asks for them; what
they mean in a dialect is said in `vhlo`. Every read is bounded by its section.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from tfport.errors import UnreadableFile

T = TypeVar("T")
MAGIC = b"ML\xefR"
NEWEST = 6
"""The bytecode that this reads."""
DEEPEST = 60
_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _IR, _RESOURCES, _RESOURCE_OFFSETS, _VERSIONS, _PROPERTIES = range(9)
_ATTRS, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USES, _HAS_PROPERTIES = (1 << i for i in range(7))


class BytecodeReader:
    """Bytes with a place in them; what goes past the end is an error."""

    def __init__(self, data: memoryview, where: str) -> None:
        self.data, self.at, self.where = data, 0, where

    def fail(self, why: str) -> UnreadableFile:
        return UnreadableFile(f"{self.where}, byte {self.at}: {why}")

    def take(self, count: int) -> memoryview:
        if count > len(self.data) - self.at:
            raise self.fail(f"expected {count} more bytes, found {len(self.data) - self.at}")
        self.at += count
        return self.data[self.at - count : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def varint(self) -> int:
        """As many zero bits at the low end of the first byte as there are further bytes."""
        first = self.byte()
        if first & 1:
            return first >> 1
        if first == 0:
            return int.from_bytes(self.take(8), "little")
        more = (first & -first).bit_length() - 1
        return (first | int.from_bytes(self.take(more), "little") << 8) >> (more + 1)

    def signed(self) -> int:
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def count(self) -> int:
        """Of things that take at least a byte each."""
        count = self.varint()
        if count > len(self.data) - self.at:
            raise self.fail(f"expected {count} elements, found {len(self.data) - self.at} bytes")
        return count

    def many(self, read: Callable[[], T]) -> list[T]:
        return [read() for _ in range(self.count())]

    def rest(self) -> bool:
        return self.at < len(self.data)


@dataclass(slots=True)
class Operation:
    """One op: values are numbers that are unique in the module."""

    name: str
    operands: list[int]
    results: list[int]
    types: list[int]
    """The types of its results, as entries."""
    attrs: int | None
    """The entry of its dictionary of attributes."""
    properties: memoryview | None
    regions: list[BytecodeBlock]


@dataclass(slots=True)
class BytecodeBlock:
    """Arguments and operations; regions here have one block."""

    args: list[int]
    ops: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class BytecodeEntry:
    """An attribute or type as it was written."""

    dialect: str
    data: memoryview
    custom: bool
    """Whether the dialect's own encoding was used, rather than text."""


@dataclass(slots=True)
class BytecodeModule:
    strings: list[str]
    attributes: list[BytecodeEntry]
    types: list[BytecodeEntry]
    ops: list[Operation]
    producer: str
    version: int


def read_bytecode(data: bytes, where: str = "module") -> BytecodeModule:
    """The operations of a module."""
    reader = BytecodeReader(memoryview(data), where)
    if bytes(reader.take(4)) != MAGIC:
        raise UnreadableFile(f"{where}: expected MLIR bytecode, found {bytes(data[:4])!r}")
    version = reader.varint()
    if version > NEWEST:
        raise UnreadableFile(f"{where}: bytecode of version {version} is newer than {NEWEST}")
    producer = _text(reader)
    sections: dict[int, BytecodeReader] = {}
    while reader.rest():
        number, section = _section(reader)
        sections.setdefault(number, section)
    return _Parser(sections, version, producer, where).module()


def _text(reader: BytecodeReader) -> str:
    rest = bytes(reader.data[reader.at :])
    length = rest.find(b"\0")
    if length < 0:
        raise reader.fail("expected a text that ends with a zero byte")
    reader.take(length + 1)
    return rest[:length].decode("utf-8", "replace")


def _section(reader: BytecodeReader) -> tuple[int, BytecodeReader]:
    number = reader.byte()
    length = reader.varint()
    if number & 0x80:  # aligned: a power of two, then padding up to it
        alignment = reader.varint()
        if not 0 < alignment <= 1 << 16:
            raise reader.fail(f"expected an alignment, found {alignment}")
        reader.take(-reader.at % alignment)
    return number & 0x7F, BytecodeReader(reader.take(length), reader.where)


class _Scope:
    """The values that operations see: those of a region are behind those of the regions around it."""

    def __init__(self) -> None:
        self.values: list[int | None] = []
        self.next: list[int] = []


class _Parser:
    def __init__(self, sections: dict[int, BytecodeReader], version: int, producer: str, where: str) -> None:
        self._sections, self._version, self._producer, self._where = sections, version, producer, where
        self._strings = self._read_strings()
        self._dialects, self._names = self._read_dialects()
        self._attributes, self._types = self._read_entries()
        self._properties = self._read_properties()
        self._count = 0

    def module(self) -> BytecodeModule:
        scope = _Scope()
        block = self._regions_of(self._needed(_IR), [scope], 1, 0)[0]
        return BytecodeModule(
            self._strings, self._attributes, self._types, block.ops, self._producer, self._version
        )

    def _needed(self, number: int) -> BytecodeReader:
        if number not in self._sections:
            raise UnreadableFile(f"{self._where}: the bytecode lacks its section {number}")
        return self._sections[number]

    def _read_strings(self) -> list[str]:
        reader = self._needed(_STRINGS)
        lengths = reader.many(reader.varint)
        texts = [bytes(reader.take(n)) for n in reversed(lengths)]
        return [s[:-1].decode("utf-8", "surrogateescape") for s in texts]

    def _at(self, table: list[T], number: int, what: str) -> T:
        if number >= len(table):
            raise UnreadableFile(f"{self._where}: there is no {what} {number} of {len(table)}")
        return table[number]

    def _read_dialects(self) -> tuple[list[str], list[str]]:
        reader = self._needed(_DIALECTS)
        dialects = []
        for _ in range(reader.count()):
            number = reader.varint()
            if self._version >= 1:
                if number & 1:
                    _section(reader)
                number >>= 1
            dialects.append(self._at(self._strings, number, "string"))
        if self._version >= 4:
            reader.varint()  # how many names there are in all
        names = []
        while reader.rest():
            dialect = self._at(dialects, reader.varint(), "dialect")
            for _ in range(reader.count()):
                number = reader.varint()
                name = self._at(self._strings, number >> 1 if self._version >= 5 else number, "string")
                names.append(f"{dialect}.{name}")
        return dialects, names

    def _read_entries(self) -> tuple[list[BytecodeEntry], list[BytecodeEntry]]:
        offsets, data = self._needed(_OFFSETS), self._needed(_ENTRIES)
        counts = offsets.varint(), offsets.varint()
        tables: tuple[list[BytecodeEntry], list[BytecodeEntry]] = ([], [])
        for table, count in zip(tables, counts, strict=True):
            while len(table) < count:
                dialect = self._at(self._dialects, offsets.varint(), "dialect")
                for _ in range(offsets.count()):
                    size = offsets.varint()
                    table.append(BytecodeEntry(dialect, data.take(size >> 1), bool(size & 1)))
                if not offsets.rest() and len(table) < count:
                    raise offsets.fail(f"expected {count} entries, found {len(table)}")
        return tables

    def _read_properties(self) -> list[memoryview]:
        reader = self._sections.get(_PROPERTIES)
        return reader.many(lambda: reader.take(reader.varint())) if reader is not None else []

    def _regions_of(
        self, reader: BytecodeReader, scopes: list[_Scope], count: int, depth: int
    ) -> list[BytecodeBlock]:
        if depth > DEEPEST:
            raise reader.fail(f"regions are nested deeper than {DEEPEST}")
        return (
            [self._region(reader, scopes, depth) for _ in range(count)]
            if depth
            else [self._block(reader, scopes, depth)]
        )

    def _region(self, reader: BytecodeReader, scopes: list[_Scope], depth: int) -> BytecodeBlock:
        blocks = reader.count()
        if blocks == 0:
            return BytecodeBlock([])
        if blocks > 1:
            raise reader.fail(f"a region has {blocks} blocks; programs of StableHLO have one")
        scope, values = scopes[-1], reader.varint()
        if values > len(reader.data):
            raise reader.fail(f"expected {values} values, found {len(reader.data)} bytes")
        before = len(scope.values)
        scope.values += [None] * values
        scope.next.append(before)
        block = self._block(reader, scopes, depth)
        scope.next.pop()
        del scope.values[before:]
        return block

    def _block(self, reader: BytecodeReader, scopes: list[_Scope], depth: int) -> BytecodeBlock:
        encoding = reader.varint()
        block = BytecodeBlock([])
        if encoding & 1:
            for _ in range(reader.count()):
                block.args.append(self._argument(reader, scopes[-1]))
            if self._version >= 3 and reader.byte():
                raise reader.fail("an order of uses is not read")
        for _ in range(encoding >> 1):
            block.ops.append(self._operation(reader, scopes, depth))
        return block

    def _argument(self, reader: BytecodeReader, scope: _Scope) -> int:
        kind = reader.varint()
        if self._version < 4 or kind & 1:
            reader.varint()  # its location
        return self._define(reader, scope)

    def _define(self, reader: BytecodeReader, scope: _Scope) -> int:
        place = scope.next[-1] if scope.next else -1
        if not 0 <= place < len(scope.values):
            raise reader.fail("there are more values than a region said")
        self._count += 1
        scope.values[place] = self._count
        scope.next[-1] += 1
        return self._count

    def _operation(self, reader: BytecodeReader, scopes: list[_Scope], depth: int) -> Operation:
        name = self._at(self._names, reader.varint(), "name of an op")
        mask = reader.byte()
        reader.varint()  # its location
        attrs = reader.varint() if mask & _ATTRS else None
        properties = (
            self._at(self._properties, reader.varint(), "set of properties")
            if mask & _HAS_PROPERTIES
            else None
        )
        types = reader.many(reader.varint) if mask & _RESULTS else []
        numbers = reader.many(reader.varint) if mask & _OPERANDS else []
        operands = [self._value(reader, scopes[-1], n) for n in numbers]
        if mask & (_SUCCESSORS | _USES):
            raise reader.fail(f"{name} has successors or an order of uses, which are not read")
        results = [self._define(reader, scopes[-1]) for _ in types]
        regions = self._nested(reader, scopes, depth) if mask & _REGIONS else []
        return Operation(name, operands, results, types, attrs, properties, regions)

    def _nested(self, reader: BytecodeReader, scopes: list[_Scope], depth: int) -> list[BytecodeBlock]:
        encoding = reader.varint()
        count, isolated = encoding >> 1, encoding & 1
        if count > len(reader.data):
            raise reader.fail(f"expected {count} regions")
        if isolated and self._version >= 2:
            number, reader = _section(reader)
            if number != _IR:
                raise reader.fail(f"expected a section of operations, found section {number}")
        return self._regions_of(reader, [*scopes, _Scope()] if isolated else scopes, count, depth + 1)

    def _value(self, reader: BytecodeReader, scope: _Scope, number: int) -> int:
        value = scope.values[number] if number < len(scope.values) else None
        if value is None:
            raise reader.fail(f"value {number} is read before it is made")
        return value
