"""Memory that a front end and its server share, and which parts of it are in use.

    blocks = SharedBlocks.create(64 * 2**20)       in the server; `blocks.fd` goes to the front end
    blocks = SharedBlocks(fd)                      in the front end
    place = blocks.put(content)                    None if there is no room
    blocks.free(place)

Only the front end allocates. The server can pin the memory, so that a GPU copies from it directly.
"""

from __future__ import annotations

import mmap
import os
from bisect import insort
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tfport.operating_system import memory_file

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64


class BlockPlace(NamedTuple):
    """Where a block lies, in bytes."""

    offset: int
    size: int


class SharedBlocks:
    """A file in memory, mapped by two processes."""

    def __init__(self, fd: int) -> None:
        self.fd, self.size = fd, os.fstat(fd).st_size
        self.bytes: NDArray[np.uint8] = np.frombuffer(mmap.mmap(fd, self.size), np.uint8)
        self._free = [BlockPlace(0, self.size)]
        """In the order of their offsets; no two of them touch."""

    @classmethod
    def create(cls, size: int) -> SharedBlocks:
        fd = memory_file("tfport-front-end")
        os.ftruncate(fd, size)
        return cls(fd)

    def view(self, offset: int, size: int) -> NDArray[np.uint8]:
        """The bytes of a block; read-only, as those of a message."""
        part = self.bytes[offset : offset + size]
        part.flags.writeable = False
        return part

    def put(self, *parts: bytes | memoryview) -> BlockPlace | None:
        """Copy bytes into a free block, one after the other; None if there is none of that size."""
        size = sum(map(len, parts))
        room = size + -size % ALIGNMENT
        index = next((i for i, free in enumerate(self._free) if free.size >= room), None)
        if index is None or not size:
            return None
        start, free = self._free[index]
        if free == room:
            del self._free[index]
        else:
            self._free[index] = BlockPlace(start + room, free - room)
        at = start
        for part in parts:
            self.bytes[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        return BlockPlace(start, size)

    def free(self, place: BlockPlace) -> None:
        """Make a block available again."""
        start, end = place.offset, place.offset + place.size + -place.size % ALIGNMENT
        insort(self._free, BlockPlace(start, end - start))
        at = self._free.index(BlockPlace(start, end - start))
        if at + 1 < len(self._free) and self._free[at + 1].offset == end:
            end += self._free.pop(at + 1).size
        if at and sum(self._free[at - 1]) == start:
            start = self._free.pop(at - 1).offset
            at -= 1
        self._free[at] = BlockPlace(start, end - start)

    @property
    def free_bytes(self) -> int:
        return sum(place.size for place in self._free)

    def close(self) -> None:
        """Close the file; the memory is freed when no array uses it any more."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1
