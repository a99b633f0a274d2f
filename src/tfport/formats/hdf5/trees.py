"""B-trees of an HDF5 file: the indexes of groups, chunks and heaps."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.formats.hdf5.source import Cursor, Hdf5Bytes

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
