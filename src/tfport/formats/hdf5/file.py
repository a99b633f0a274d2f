"""Read an HDF5 file: groups, attributes and datasets.

`open_hdf5(data, where)` returns the root group. Only what is asked for is read. Links to other
places are listed, and not followed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.hdf5.attributes import read_attributes
from tfport.formats.hdf5.datasets import Hdf5Dataset
from tfport.formats.hdf5.heaps import GlobalHeaps
from tfport.formats.hdf5.links import Hdf5Link, read_links
from tfport.formats.hdf5.objects import HeaderMessage, MessageType, read_messages
from tfport.formats.hdf5.source import Hdf5Bytes

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
