"""Read the bytes at an address of a loaded library from its file."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np
from elftools.elf.constants import P_FLAGS
from elftools.elf.enums import ENUM_P_TYPE_BASE

from tfport.errors import UnreadableFile
from tfport.startup.dataclass import dataclass

PT_LOAD: Final = ENUM_P_TYPE_BASE["PT_LOAD"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A program header."""

    kind: int
    flags: int
    offset: int
    address: int
    size: int
    """The size in the file; the rest of the memory is zero."""
    memory_size: int
    align: int

    @property
    def is_code(self) -> bool:
        return bool(self.flags & P_FLAGS.PF_X)

    @property
    def is_writable(self) -> bool:
        return bool(self.flags & P_FLAGS.PF_W)

    def holds(self, address: int) -> bool:
        return self.address <= address < self.address + self.size


class Image:
    """The memory image of a library, read from its file."""

    def __init__(self, data: memoryview, where: str, segments: list[Segment]) -> None:
        self.data = data
        self.where = where
        self.segments = segments

    @cached_property
    def loaded(self) -> list[Segment]:
        return [segment for segment in self.segments if segment.kind == PT_LOAD]

    @property
    def is_cut(self) -> bool:
        """Whether the file ends before a segment does."""
        return any(s.offset + s.size > len(self.data) for s in self.loaded)

    def read(self, address: int, size: int, what: str) -> memoryview:
        """The bytes at an address; `what` describes them in errors."""
        segment = next((s for s in self.loaded if s.holds(address)), None)
        if segment is None:
            raise UnreadableFile(
                f"{self.where}: {what} should be at address {address:#x}, which is not in the file"
            )
        start = segment.offset + address - segment.address
        if size > segment.address + segment.size - address or start + size > len(self.data):
            raise UnreadableFile(f"{self.where}: {what} should have {size} bytes, but the file ends earlier")
        return self.data[start : start + size]

    def read_up_to(self, address: int, size: int) -> memoryview:
        """At most `size` bytes at an address; none if it is not in the file."""
        segment = next((s for s in self.loaded if s.holds(address)), None)
        if segment is None:
            return memoryview(b"")
        start = segment.offset + address - segment.address
        return self.data[start : min(start + size, segment.offset + segment.size)]

    def table(self, address: int, count: int, row: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
        return np.frombuffer(self.read(address, count * row.itemsize, what), row)

    def text(self, address: int, most: int = 4096) -> bytes | None:
        """The zero-terminated string at an address."""
        chunk = bytes(self.read_up_to(address, most))
        end = chunk.find(b"\0")
        return chunk[:end] if end >= 0 else None


def string_at(strings: memoryview, offset: int) -> str:
    """The string at an offset of a string table."""
    return cut_at_zero(strings, offset).decode(errors="replace")


def cut_at_zero(strings: memoryview, offset: int) -> bytes:
    chunk = bytes(strings[offset : offset + 256])
    end = chunk.find(b"\0")
    if end < 0:
        chunk = bytes(strings[offset : offset + (1 << 16)])
        end = chunk.find(b"\0")
    return chunk[:end] if end >= 0 else chunk
