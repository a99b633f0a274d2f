"""Heaps and B-trees of an HDF5 file: where names, texts and attributes are stored, and how they are found."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from functools import cached_property

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
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
        self.has_checksums = bool(header.uint(1) & 2)
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


# B-trees: the indexes of groups, chunks and heaps.

GROUP, CHUNKS = 0, 1
"""The types of a B-tree of version 1."""
DEEPEST = 32


def leaves(source: Hdf5Bytes, address: int, kind: int, key_size: int) -> Iterator[tuple[Cursor, int]]:
    """The key and the address of each entry of a B-tree of version 1."""
    nodes = [(address, -1)]
    seen: set[int] = set()
    while nodes:
        at, level = nodes.pop()
        if at in seen:
            raise source.error(source.base + at, "a B-tree refers to itself")
        seen.add(at)
        header = source.cursor(at, 8 + 2 * source.offset_size, "a B-tree node").expect(b"TREE")
        node_kind, node_level, entries = header.uint(1), header.uint(1), header.uint(2)
        if node_kind != kind or (level >= 0 and node_level != level) or node_level > DEEPEST:
            raise header.error(f"a B-tree node has type {node_kind} and level {node_level}")
        width = key_size + source.offset_size
        body = source.cursor(at + len(header.view), entries * width, "a B-tree node")
        children = [(body.part(key_size, "a B-tree key"), body.offset()) for _ in range(entries)]
        if node_level:
            nodes += [(child, node_level - 1) for _, child in reversed(children)]
        else:
            yield from children


def records(source: Hdf5Bytes, address: int, kind: int) -> Iterator[Cursor]:
    """The records of a B-tree of version 2."""
    size = 22 + source.offset_size + source.length_size
    header = source.cursor(address, size, "a B-tree").expect(b"BTHD").skip(1)
    stored, node_size, record_size, depth = header.uint(1), header.uint(4), header.uint(2), header.uint(2)
    root, count = header.skip(2).offset(), header.uint(2)
    if stored != kind or not record_size or depth > DEEPEST or node_size < 10 + record_size:
        raise header.error(f"expected a B-tree of type {kind}, found type {stored} and depth {depth}")
    if source.is_undefined(root):
        return
    most = _most_records(source, node_size, record_size, depth)
    nodes = [(root, count, depth)]
    seen: set[int] = set()
    while nodes:
        at, count, level = nodes.pop()
        if at in seen:
            raise source.error(source.base + at, "a B-tree refers to itself")
        seen.add(at)
        node = source.cursor(at, node_size, "a B-tree node").expect(b"BTIN" if level else b"BTLF").skip(2)
        for _ in range(count):
            source.step()
            yield node.part(record_size, "a B-tree record")
        if level:
            count_size, total_size = _count_size(most[level - 1][0]), _count_size(most[level - 1][1])
            for _ in range(count + 1):
                child, inside = node.offset(), node.uint(count_size)
                node.skip(total_size if level > 1 else 0)
                nodes.append((child, inside, level - 1))


def _most_records(source: Hdf5Bytes, node_size: int, record_size: int, depth: int) -> list[tuple[int, int]]:
    """How many records a node of each level can have, itself and with the nodes below it."""
    most = [((node_size - 10) // record_size,) * 2]
    for level in range(1, depth + 1):
        pointer = source.offset_size + _count_size(most[-1][0])
        pointer += _count_size(most[-1][1]) if level > 1 else 0
        own = max(0, node_size - 10 - pointer) // (record_size + pointer)
        most.append((own, (own + 1) * most[-1][1] + own))
    return [(own, total) for own, total in most]


def _count_size(most: int) -> int:
    return max(1, (most.bit_length() + 7) // 8)
