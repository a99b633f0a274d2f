"""The bytes of an HDF5 file: every structure is read through a `Hdf5Bytes` or a `Cursor`.

Both check that bytes exist before they are used. Each structure counts as one step of a budget,
so that damaged files with cycles end with an error.
"""

from __future__ import annotations

from struct import Struct

from tfport.errors import UnreadableFile

MOST_STEPS = 1_000_000
"""At most this many structures of a file are read; a model with 10,000 weights has 100,000."""
FREE_STEPS, STEP_BYTES = 50_000, 4
"""A small file may have fewer: one for so many bytes, and some that do not count."""
LONGEST_NAME = 1024
MOST_STRINGS = 1 << 28
"""At most this many bytes of strings of variable length are copied."""


class Hdf5Bytes:
    """An HDF5 file in memory."""

    def __init__(self, data: memoryview, where: str) -> None:
        self.data, self.where = data, where
        self.base = 0
        self.offset_size = self.length_size = 8
        self.most_steps = min(MOST_STEPS, FREE_STEPS + len(data) // STEP_BYTES)
        self._steps, self._strings = self.most_steps, MOST_STRINGS

    def take(self, address: int, size: int, what: str) -> memoryview:
        """The bytes at an address."""
        self.step()
        start = self.base + address
        if start + size > len(self.data):
            raise self.error(
                start,
                f"{what} needs {size} bytes, but the file ends after {len(self.data)}; it was cut short",
            )
        return self.data[start : start + size]

    def cursor(self, address: int, size: int, what: str) -> Cursor:
        """A cursor over the bytes at an address."""
        return Cursor(self, self.take(address, size, what), self.base + address, what)

    def rest(self, address: int, most: int, what: str) -> Cursor:
        """A cursor over at most `most` bytes at an address; fewer if the file ends before."""
        left = max(0, len(self.data) - self.base - address)
        return self.cursor(address, min(most, left), what)

    def is_undefined(self, address: int) -> bool:
        """Whether an address stands for "not stored": all bits are set."""
        return address == (1 << 8 * self.offset_size) - 1

    def step(self) -> None:
        self._steps -= 1
        if self._steps < 0:
            raise UnreadableFile(
                f"{self.where}: the HDF5 file has more than {self.most_steps} structures, or refers to itself"
            )

    def copy(self, view: memoryview) -> bytes:
        """A string of variable length, which several places may refer to."""
        self._strings -= len(view)
        if self._strings < 0:
            raise UnreadableFile(f"{self.where}: the HDF5 file has more than {MOST_STRINGS} bytes of strings")
        return bytes(view)

    def error(self, at: int, why: str) -> UnreadableFile:
        return UnreadableFile(f"{self.where}, byte {at}: damaged HDF5: {why}")


class Cursor:
    """A position in the bytes of a structure."""

    __slots__ = ("at", "size", "source", "start", "view", "what")

    def __init__(self, source: Hdf5Bytes, view: memoryview, start: int, what: str) -> None:
        self.source, self.view, self.start, self.what = source, view, start, what
        self.at, self.size = 0, len(view)

    @property
    def left(self) -> int:
        return self.size - self.at

    def take(self, size: int) -> memoryview:
        if size > self.size - self.at:
            raise self.error(f"{self.what} needs {size} more bytes, but has {self.left}")
        self.at += size
        return self.view[self.at - size : self.at]

    def uint(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def fields(self, layout: Struct) -> tuple[int, ...]:
        """Several integers at once."""
        return layout.unpack(self.take(layout.size))

    def offset(self) -> int:
        return self.uint(self.source.offset_size)

    def length(self) -> int:
        return self.uint(self.source.length_size)

    def skip(self, size: int) -> Cursor:
        self.take(size)
        return self

    def pad(self, multiple: int, start: int = 0) -> None:
        """Move to a multiple of a size, counted from `start`, as far as there are bytes."""
        self.at += min(-(self.at - start) % multiple, self.left)

    def part(self, size: int, what: str) -> Cursor:
        """A cursor over the next bytes, which this one skips."""
        start = self.start + self.at
        return Cursor(self.source, self.take(size), start, what)

    def expect(self, signature: bytes) -> Cursor:
        stored = bytes(self.take(len(signature)))
        if stored != signature:
            self.at -= len(signature)
            raise self.error(f"expected {self.what} ({signature.decode()}), found {stored!r}")
        return self

    def text(self) -> str:
        """A string that ends with a zero byte."""
        start = bytes(self.view[self.at : self.at + LONGEST_NAME])
        value, end, _ = start.partition(b"\0")
        if not end:
            raise self.error(f"{self.what} has a name without an end")
        self.at += len(value) + 1
        return value.decode("utf-8", "replace")

    def error(self, why: str) -> UnreadableFile:
        return self.source.error(self.start + self.at, why)
