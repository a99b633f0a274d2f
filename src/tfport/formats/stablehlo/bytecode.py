"""Read MLIR bytecode, the form in which XlaCallModule stores StableHLO programs.

The file is a list of sections: strings, names of ops, a table of attributes and types, and operations
that refer to these by number. Attributes and types stay bytes here; `vhlo` decodes them. Every read is
limited to its section.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tfport.errors import UnreadableFile
from tfport.startup.dataclass import dataclass, field

T = TypeVar("T")
MAGIC = b"ML\xefR"
NEWEST = 6
"""The newest supported version of the bytecode."""
DEEPEST = 60
_STRINGS, _DIALECTS, _ENTRIES, _OFFSETS, _IR, _RESOURCES, _RESOURCE_OFFSETS, _VERSIONS, _PROPERTIES = range(9)
_ATTRS, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USES, _HAS_PROPERTIES = (1 << i for i in range(7))


class BytecodeReader:
    """Bytes with a read position; reading past the end is an error."""

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
        """An integer; the number of trailing zero bits of the first byte is the number of further bytes."""
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
        """The number of elements, each of which takes at least a byte."""
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
    """An operation; its operands and results are numbers that are unique in the module."""

    name: str
    operands: list[int]
    results: list[int]
    types: list[int]
    """The types of the results, as numbers of entries."""
    attrs: int | None
    """The entry with the dictionary of attributes."""
    properties: memoryview | None
    regions: list[BytecodeBlock]


@dataclass(slots=True)
class BytecodeBlock:
    """The arguments and operations of a region; a region has one block here."""

    args: list[int]
    types: list[int] = field(default_factory=list)
    """The types of the arguments, as numbers of entries."""
    ops: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class BytecodeEntry:
    """The bytes of an attribute or type."""

    dialect: str
    data: memoryview
    custom: bool
    """Whether it has the encoding of its dialect, not text."""


@dataclass(slots=True)
class BytecodeModule:
    """The tables and operations of a module."""

    strings: list[str]
    attributes: list[BytecodeEntry]
    types: list[BytecodeEntry]
    ops: list[Operation]
    producer: str
    version: int


def read_bytecode(data: bytes, where: str = "module") -> BytecodeModule:
    """Read a module."""
    reader = BytecodeReader(memoryview(data), where)
    if bytes(reader.take(4)) != MAGIC:
        raise UnreadableFile(f"{where}: expected MLIR bytecode, found {bytes(data[:4])!r}")
    version = reader.varint()
    if version > NEWEST:
        raise UnreadableFile(
            f"{where}: expected bytecode of version {NEWEST} or older, found version {version}"
        )
    producer = _text(reader)
    sections: dict[int, BytecodeReader] = {}
    while reader.rest():
        number, section = _section(reader)
        sections.setdefault(number, section)
    return _Parser(sections, version, producer, where).module()


def bytecode_version(data: bytes) -> int | None:
    """The version of MLIR bytecode; None for anything else."""
    if data[:4] != MAGIC or len(data) < 5:
        return None
    return BytecodeReader(memoryview(data[4:16]), "module").varint()


def _text(reader: BytecodeReader) -> str:
    rest = bytes(reader.data[reader.at :])
    length = rest.find(b"\0")
    if length < 0:
        raise reader.fail("expected a zero-terminated text")
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
    """The values that operations can use; those of a region follow those of the enclosing regions."""

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
            raise UnreadableFile(f"{self._where}: the bytecode has no section {number}")
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
                kind, argument = self._argument(reader, scopes[-1])
                block.args.append(argument)
                block.types.append(kind)
            if self._version >= 3 and reader.byte():
                self._skip_use_orders(reader, len(block.args))
        for _ in range(encoding >> 1):
            block.ops.append(self._operation(reader, scopes, depth))
        return block

    def _skip_use_orders(self, reader: BytecodeReader, values: int) -> None:
        """Skip the order in which the users of values are listed: it does not change the program."""
        for _ in range(1 if values == 1 else reader.count()):
            if values != 1:
                reader.varint()  # which of the values
            for _ in range(reader.varint() >> 1):
                reader.varint()

    def _argument(self, reader: BytecodeReader, scope: _Scope) -> tuple[int, int]:
        """The type of an argument, and its value."""
        kind = reader.varint()
        if self._version < 4 or kind & 1:
            reader.varint()  # its location
        return kind >> 1 if self._version >= 4 else kind, self._define(reader, scope)

    def _define(self, reader: BytecodeReader, scope: _Scope) -> int:
        index = scope.next[-1] if scope.next else -1
        if not 0 <= index < len(scope.values):
            raise reader.fail("a region defines more values than it declares")
        self._count += 1
        scope.values[index] = self._count
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
        if mask & _SUCCESSORS:
            raise reader.fail(f"{name} has successors, which are not supported")
        if mask & _USES:
            self._skip_use_orders(reader, len(types))
        results = [self._define(reader, scopes[-1]) for _ in types]
        regions = self._nested(reader, scopes, depth) if mask & _REGIONS else []
        return Operation(name, operands, results, types, attrs, properties, regions)

    def _nested(self, reader: BytecodeReader, scopes: list[_Scope], depth: int) -> list[BytecodeBlock]:
        encoding = reader.varint()
        count, isolated = encoding >> 1, encoding & 1
        if count > len(reader.data):
            raise reader.fail(f"expected {count} regions, found {len(reader.data)} bytes")
        if isolated and self._version >= 2:
            number, reader = _section(reader)
            if number != _IR:
                raise reader.fail(f"expected a section of operations, found section {number}")
        return self._regions_of(reader, [*scopes, _Scope()] if isolated else scopes, count, depth + 1)

    def _value(self, reader: BytecodeReader, scope: _Scope, number: int) -> int:
        value = scope.values[number] if number < len(scope.values) else None
        if value is None:
            raise reader.fail(f"value {number} is used before it is defined")
        return value
