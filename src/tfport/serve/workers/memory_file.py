"""Bytes in memory that another process can read: a file that exists only in memory.

file = MemoryFile()
file.write(chunk)
file.view()                    the bytes without a copy
"""

from __future__ import annotations

import mmap
import os


class MemoryFile:
    """A growing sequence of bytes with a file descriptor; the memory is freed once nothing uses it."""

    def __init__(self, fd: int | None = None) -> None:
        self.fd = os.memfd_create("tfport", os.MFD_CLOEXEC) if fd is None else fd
        self.size = os.fstat(self.fd).st_size

    def __len__(self) -> int:
        return self.size

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Append bytes."""
        rest = memoryview(data).cast("B")
        self.size += len(rest)
        while rest:
            rest = rest[os.write(self.fd, rest) :]

    def pad(self, multiple: int) -> None:
        """Append zeros until the size is a multiple of a number."""
        self.write(bytes(-self.size % multiple))

    def view(self) -> memoryview:
        """Return the bytes without a copy; they stay valid after `close`."""
        return memoryview(mmap.mmap(self.fd, self.size, prot=mmap.PROT_READ) if self.size else b"")

    def close(self) -> None:
        """Free the memory, unless a view or another process uses it."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        self.close()
