"""Heaps of an HDF5 file: where names, strings of variable length and attributes are stored."""

from __future__ import annotations

from bisect import bisect
from functools import cached_property

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.formats.hdf5.trees import records
from tfport.startup.dataclass import dataclass

MOST_ROWS = 64
"""The blocks of each row of a fractal heap are twice as large as those before."""
HUGE_OBJECTS = 1
"""The type of a B-tree with the huge objects of a heap."""


class LocalHeap:
    """The names of a group."""

    def __init__(self, source: Hdf5Bytes, address: int) -> None:
        header = source.rest(address, 64, "a local heap").expect(b"HEAP").skip(4)
        size = header.length()
        header.length()
        self.source, self.address = source, header.offset()
        self.data = source.take(self.address, size, "a local heap")

    def name(self, offset: int) -> str:
        start = self.source.base + self.address + offset
        return Cursor(self.source, self.data[offset:], start, "a local heap").text()


class GlobalHeaps:
    """Collections of strings of variable length, read when they are first used."""

    def __init__(self, source: Hdf5Bytes) -> None:
        self.source = source
        self._collections: dict[int, dict[int, memoryview]] = {}

    def find(self, address: int, index: int) -> memoryview:
        if address not in self._collections:
            self._collections[address] = self._read(address)
        collection = self._collections[address]
        if index not in collection:
            raise self.source.error(self.source.base + address, f"a global heap has no object {index}")
        return collection[index]

    def _read(self, address: int) -> dict[int, memoryview]:
        header = self.source.rest(address, 32, "a global heap").expect(b"GCOL").skip(4)
        size = header.length()
        cursor = self.source.cursor(address, size, "a global heap").skip(header.at)
        objects: dict[int, memoryview] = {}
        while cursor.left >= 8 + self.source.length_size:
            self.source.step()
            index = cursor.uint(2)
            size = cursor.skip(6).length()
            if index == 0:  # free space
                break
            objects[index] = cursor.take(size)
            cursor.pad(8)
        return objects


@dataclass(frozen=True, slots=True)
class HeapIdSizes:
    """The sizes of the fields in the id of an object of a fractal heap."""

    id: int
    offset: int
    length: int


class FractalHeap:
    """The links or attributes of an object that has many of them."""

    def __init__(self, source: Hdf5Bytes, address: int) -> None:
        self.source = source
        header = source.rest(address, 256, "a fractal heap").expect(b"FRHP").skip(1)
        id_size = header.uint(2)
        filters = header.uint(2)
        header.uint(1)  # flags
        largest = header.uint(4)
        header.length()  # the next id of a huge object
        self.huge_tree = header.offset()
        header.length()  # free space
        header.offset()
        for _ in range(8):
            header.length()  # sizes and counts
        self.width = header.uint(2)
        self.first_size, self.largest_direct = header.length(), header.length()
        self.offset_bits = header.uint(2)
        header.uint(2)
        self.root = header.offset()
        self.rows = header.uint(2)
        if filters:
            raise UnreadableFile(f"{source.where}: a compressed fractal heap, which tfport cannot read")
        powers = all(n > 0 and n & (n - 1) == 0 for n in (self.width, self.first_size, self.largest_direct))
        if not powers or self.offset_bits > 64 or self.rows > MOST_ROWS or id_size > 4096:
            raise header.error("the sizes of a fractal heap are invalid")
        length = (min(self.largest_direct, largest).bit_length() + 7) // 8
        self.sizes = HeapIdSizes(id_size, (self.offset_bits + 7) // 8, length)

    def find(self, identifier: Cursor) -> Cursor:
        """The object with an id."""
        kind = identifier.uint(1) >> 4 & 3
        if kind == 0:
            offset, size = identifier.uint(self.sizes.offset), identifier.uint(self.sizes.length)
            return self._managed(offset, size)
        if kind == 1:
            return self._huge(identifier)
        if kind == 2:
            identifier.at -= 1
            size = (identifier.uint(1) & 15) + 1
            if self.sizes.id - 1 > 16:
                size = ((size - 1) << 8 | identifier.uint(1)) + 1
            return identifier.part(size, "a tiny object of a heap")
        raise identifier.error("an object of a heap has an unknown kind")

    def _huge(self, identifier: Cursor) -> Cursor:
        if self.sizes.id - 1 >= self.source.offset_size + self.source.length_size:
            address, size = identifier.offset(), identifier.length()
        else:
            key = identifier.uint(min(identifier.left, self.sizes.id - 1, 8))
            if key not in self._huge_objects:
                raise identifier.error(f"a heap has no huge object {key}")
            address, size = self._huge_objects[key]
        return self.source.cursor(address, size, "a huge object of a heap")

    @cached_property
    def _huge_objects(self) -> dict[int, tuple[int, int]]:
        objects: dict[int, tuple[int, int]] = {}
        if not self.source.is_undefined(self.huge_tree):
            for record in records(self.source, self.huge_tree, HUGE_OBJECTS):
                address, size = record.offset(), record.length()
                objects[record.length()] = (address, size)
        return objects

    def _managed(self, offset: int, size: int) -> Cursor:
        number = bisect(self._blocks, (offset, 1 << 64)) - 1
        if number >= 0:
            start, address, length = self._blocks[number]
            if offset + size <= start + length:
                return self.source.cursor(address + offset - start, size, "an object of a heap")
        raise self.source.error(self.source.base + self.root, f"a heap has no object at offset {offset}")

    @cached_property
    def _blocks(self) -> list[tuple[int, int, int]]:
        """Offset in the heap, address and size of each direct block, sorted."""
        if self.source.is_undefined(self.root):
            return []
        if self.rows == 0:
            return [(0, self.root, self.first_size)]
        blocks: list[tuple[int, int, int]] = []
        seen: set[int] = set()
        tables = [(self.root, self.rows, 0)]
        for address, rows, base in tables:  # grows during the loop
            if address in seen:
                raise self.source.error(self.source.base + address, "a fractal heap refers to itself")
            seen.add(address)
            self._read_table(address, rows, base, blocks, tables)
        return sorted(blocks)

    def _read_table(
        self,
        address: int,
        rows: int,
        base: int,
        blocks: list[tuple[int, int, int]],
        tables: list[tuple[int, int, int]],
    ) -> None:
        """Add the direct and indirect blocks that an indirect block lists."""
        size = 5 + self.source.offset_size * (1 + rows * self.width) + self.sizes.offset
        cursor = self.source.cursor(address, size, "an indirect block").expect(b"FHIB").skip(1)
        cursor.offset()
        cursor.skip(self.sizes.offset)
        for row in range(rows):
            length = self.first_size << max(0, row - 1)
            for _ in range(self.width):
                child = cursor.offset()
                if self.source.is_undefined(child):
                    pass
                elif length <= self.largest_direct:
                    blocks.append((base, child, length))
                else:
                    inner = (length // (self.first_size * self.width)).bit_length()
                    tables.append((child, inner, base))
                base += length


GROUP, CHUNKS = 0, 1
"""The types of a B-tree of version 1."""
