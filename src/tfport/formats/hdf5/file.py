"""Read an HDF5 file: groups, attributes and datasets.

`open_hdf5(data, where)` returns the root group. Only what is asked for is read. Links to other
places are listed, and not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.datatypes import read_attributes
from tfport.formats.hdf5.heaps import GROUP, FractalHeap, GlobalHeaps, LocalHeap
from tfport.formats.hdf5.objects import HeaderMessage, MessageType, read_messages
from tfport.formats.hdf5.source import Cursor, Hdf5Bytes
from tfport.formats.hdf5.trees import leaves, records
from tfport.startup.dataclass import dataclass

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MOST_LINKS = 200_000


class Hdf5Group:
    """A group of an HDF5 file."""

    def __init__(
        self, source: Hdf5Bytes, path: str, messages: list[HeaderMessage], heaps: GlobalHeaps
    ) -> None:
        self.source, self.path, self.messages, self.heaps = source, path, messages, heaps
        self._opened: dict[str, Hdf5Group | Hdf5Dataset] = {}

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes by name; None for those of types that are not read."""
        return read_attributes(self.source, self.messages, self.heaps)

    @cached_property
    def links(self) -> Mapping[str, Hdf5Link]:
        """What is in the group, by name."""
        links: dict[str, Hdf5Link] = {}
        for link in read_links(self.source, self.messages):
            links[link.name] = link
            if len(links) > MOST_LINKS:
                raise UnreadableFile(f"{self.source.where}: {self.path or '/'}: more than {MOST_LINKS} links")
        return links

    def open(self, link: Hdf5Link) -> Hdf5Group | Hdf5Dataset:
        """The object of a link with an address."""
        if link.name not in self._opened:
            self._opened[link.name] = self._open(link)
        return self._opened[link.name]

    def _open(self, link: Hdf5Link) -> Hdf5Group | Hdf5Dataset:
        path = f"{self.path}/{link.name}" if self.path else link.name
        if link.address is None:
            raise UnreadableFile(f"{self.source.where}: {path}: {link.target}; tfport does not follow it")
        messages = read_messages(self.source, link.address)
        if any(message.type == MessageType.LAYOUT for message in messages):
            return Hdf5Dataset(self.source, path, messages, self.heaps)
        return Hdf5Group(self.source, path, messages, self.heaps)

    def find(self, path: str) -> Hdf5Group | Hdf5Dataset | Hdf5Link | None:
        """The object at a path; a link if the path leads to one that is not followed."""
        group: Hdf5Group | Hdf5Dataset = self
        for name in filter(None, path.split("/")):
            if not isinstance(group, Hdf5Group) or (link := group.links.get(name)) is None:
                return None
            if link.address is None:
                return link
            group = group.open(link)
        return group


def open_hdf5(data: memoryview, where: str) -> Hdf5Group:
    """The root group of the HDF5 file with these bytes."""
    source = Hdf5Bytes(data, where)
    start = _superblock_at(source)
    header = source.rest(start, 128, "the superblock").skip(8)
    version = header.uint(1)
    if version in (0, 1):
        header.skip(4)
    elif version not in (2, 3):
        raise header.error(f"the superblock has version {version}; the file is newer than tfport, or damaged")
    source.offset_size, source.length_size = header.uint(1), header.uint(1)
    if source.offset_size not in (2, 4, 8) or source.length_size not in (2, 4, 8):
        raise header.error(f"addresses have {source.offset_size} bytes, and sizes {source.length_size}")
    header.skip({0: 9, 1: 13}.get(version, 1))
    source.base = header.offset()
    header.skip(source.offset_size)  # free space, or the extension of the superblock
    end = header.offset()
    # HDF5 opens no such file, even if everything that is asked for is there
    if len(data) < end and not source.is_undefined(end):
        raise header.error(f"the file has {len(data)} of its {end} bytes; it was cut short")
    if version < 2:
        header.skip(source.offset_size)  # driver information
        header.offset()  # the name of the root
    address = header.offset()
    heaps = GlobalHeaps(source)
    return Hdf5Group(source, "", read_messages(source, address), heaps)


def _superblock_at(source: Hdf5Bytes) -> int:
    """The start of the file proper; programs may write something of their own before it."""
    start = 0
    while start + len(SIGNATURE) <= len(source.data):
        if bytes(source.data[start : start + 8]) == SIGNATURE:
            return start
        start = start * 2 or 512
    raise UnreadableFile(f"{source.where}: not an HDF5 file")


# The links of a group: the names of its groups and datasets, and links to elsewhere.

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
