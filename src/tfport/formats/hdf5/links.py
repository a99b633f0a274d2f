"""The links of an HDF5 group: the names of its groups and datasets, and links to elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from tfport.formats.hdf5.heaps import FractalHeap, LocalHeap
from tfport.formats.hdf5.objects import HeaderMessage, MessageType
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.formats.hdf5.trees import GROUP, leaves, records
from tfport.startup.dataclass import dataclass

HARD, SOFT, EXTERNAL = 0, 1, 64
LINK_NAMES = 5
"""The type of a B-tree with the names of links."""
SYMBOLIC = 2


@dataclass(frozen=True, slots=True)
class Hdf5Link:
    """A name in a group: the address of an object, or the target of a link that is not followed."""

    name: str
    address: int | None
    target: str = ""
    """What a soft or external link refers to, for messages."""


def read_links(source: Hdf5Bytes, messages: list[HeaderMessage]) -> Iterator[Hdf5Link]:
    """The links of a group."""
    for message in messages:
        if message.type == MessageType.SYMBOL_TABLE:
            yield from _symbol_table(source, message.cursor(source, "a symbol table"))
        elif message.type == MessageType.LINK:
            yield _link(message.cursor(source, "a link"))
        elif message.type == MessageType.LINK_INFO:
            yield from _many_links(source, message.cursor(source, "the links of a group"))


def _symbol_table(source: Hdf5Bytes, cursor: Cursor) -> Iterator[Hdf5Link]:
    tree, heap_address = cursor.offset(), cursor.offset()
    if source.is_undefined(tree):
        return
    heap = LocalHeap(source, heap_address)
    for _, address in leaves(source, tree, GROUP, source.length_size):
        header = source.cursor(address, 8, "a symbol table node").expect(b"SNOD")
        count = header.skip(2).uint(2)
        width = 2 * source.offset_size + 24
        entries = source.cursor(address + 8, count * width, "a symbol table node")
        for _ in range(count):
            entry = entries.part(width, "a symbol table entry")
            name, object_address = heap.name(entry.offset()), entry.offset()
            if entry.uint(4) == SYMBOLIC:
                target = heap.name(entry.skip(4).uint(4))
                yield Hdf5Link(name, None, f"a soft link to `{target}`")
            else:
                yield Hdf5Link(name, object_address)


def _link(cursor: Cursor) -> Hdf5Link:
    cursor.source.step()
    if (version := cursor.uint(1)) != 1:
        raise cursor.error(f"a link has version {version}")
    flags = cursor.uint(1)
    kind = cursor.uint(1) if flags & 8 else HARD
    cursor.skip(8 if flags & 4 else 0).skip(1 if flags & 16 else 0)
    name = bytes(cursor.take(cursor.uint(1 << (flags & 3)))).decode("utf-8", "replace")
    if kind == HARD:
        return Hdf5Link(name, cursor.offset())
    value = bytes(cursor.take(cursor.uint(2))).decode("utf-8", "replace")
    if kind == SOFT:
        return Hdf5Link(name, None, f"a soft link to `{value}`")
    if kind == EXTERNAL:
        file, _, path = value[1:].rstrip("\0").partition("\0")
        return Hdf5Link(name, None, f"an external link to `{path}` in the file `{file}`")
    return Hdf5Link(name, None, f"a link of the unknown type {kind}")


def _many_links(source: Hdf5Bytes, cursor: Cursor) -> Iterator[Hdf5Link]:
    flags = cursor.skip(1).uint(1)
    heap, tree = cursor.skip(8 if flags & 1 else 0).offset(), cursor.offset()
    if source.is_undefined(heap) or source.is_undefined(tree):
        return
    objects = FractalHeap(source, heap)
    for record in records(source, tree, LINK_NAMES):
        yield _link(objects.find(record.skip(4)))
