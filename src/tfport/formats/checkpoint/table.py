"""Read sorted tables: the file format of checkpoint indices, and of whole V1 checkpoints.

A table maps byte strings to byte strings, like an SSTable of LevelDB. It consists of
data blocks, an index block with the last key and the position of each data block, and
a footer with the position of the index. Every block has a CRC32C. `SortedTable` finds a
key without reading the other blocks, or iterates over all of them. `bundle` and `v1`
interpret its keys and values.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from tfport.errors import UnreadableFile
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.wire import from_varint
from tfport.startup.dataclass import dataclass

MAGIC = bytes.fromhex("57fb808b247547db")
FOOTER = 48
TRAILER = 5  # the compression of the block, then its checksum
PLAIN, SNAPPY = 0, 1
# A key may share most of the previous one, so a small block can contain very long keys. With a whole
# key at least every 16 entries, as TensorFlow writes them, keys take at most 16 times the block.
MOST_GROWTH = 32
# Three bytes of snappy can copy at most 64 bytes.
MOST_SNAPPY_GROWTH = 22


@dataclass(frozen=True, slots=True)
class Handle:
    """The position of a block in its file, without its trailer."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        return self.offset + self.size + TRAILER


class SortedTable:
    """A table in the bytes of a file, which messages call `label`."""

    def __init__(self, data: memoryview, label: str) -> None:
        self.data, self.label = data, label
        self._kept: tuple[Handle, TableBlock] | None = None
        index = self._index_handle()
        self._last_keys: list[bytes] = []
        self._handles: list[Handle] = []
        end = 0
        for key, value in self._block(index).entries():
            handle = self._handles_in(value, 1, index.offset)[0]
            # blocks must be in order, so that reading them all takes time proportional to the file
            if not end <= handle.offset <= handle.end <= index.offset:
                actual = f"one at bytes {handle.offset} to {handle.end}"
                raise self._bad(index.offset, f"a block in bytes {end} to {index.offset}", actual)
            end = handle.end
            self._last_keys.append(key)
            self._handles.append(handle)

    def get(self, key: bytes) -> memoryview | None:
        """The value of a key, or None."""
        at = bisect_left(self._last_keys, key)
        return self._block(self._handles[at]).find(key) if at < len(self._handles) else None

    def items(self) -> Iterator[tuple[bytes, memoryview]]:
        """All keys and values, in the order of the keys."""
        for handle in self._handles:
            yield from self._block(handle).entries()

    def _index_handle(self) -> Handle:
        if len(self.data) < FOOTER:
            raise UnreadableFile(
                f"{self.label}: expected a table of {FOOTER} bytes or more, found {len(self.data)}"
            )
        at = len(self.data) - FOOTER
        if self.data[-8:] != MAGIC:
            raise self._bad(at + 40, "table magic", shown(bytes(self.data[-8:])))
        return self._handles_in(self.data[at:-8], 2, at)[
            1
        ]  # the first is the metaindex, which is always empty

    def _handles_in(self, data: memoryview, count: int, where: int) -> list[Handle]:
        handles, at = [], 0
        try:
            for _ in range(count):
                offset, at = from_varint(data, at)
                size, at = from_varint(data, at)
                handles.append(Handle(offset, size))
        except ValueError as error:
            raise self._bad(where, "the position of a block", str(error)) from None
        return handles

    def _block(self, handle: Handle) -> TableBlock:
        if self._kept and self._kept[0] == handle:
            return self._kept[1]
        block = TableBlock(self._contents(handle), self.label, handle.offset)
        self._kept = handle, block
        return block

    def _contents(self, handle: Handle) -> memoryview:
        if handle.end > len(self.data) - FOOTER:
            raise self._bad(handle.offset, f"a block of {handle.size} bytes", "the end of the file")
        raw = self.data[handle.offset : handle.end]
        computed, stored = masked(checksum(raw[:-4])), int.from_bytes(raw[-4:], "little")
        if computed != stored:
            raise self._bad(handle.offset, f"a block with checksum {stored:08x}", f"{computed:08x}")
        contents, compression = raw[: handle.size], raw[handle.size]
        if compression not in (PLAIN, SNAPPY):
            raise self._bad(handle.end - TRAILER, "compression 0 or 1", str(compression))
        return self._unpacked(contents, handle) if compression == SNAPPY else contents

    def _unpacked(self, packed: memoryview, handle: Handle) -> memoryview:
        from tfport.formats.encoding.snappy import unpacked  # imported here, as few checkpoints need it

        try:
            size, start = from_varint(packed, 0)
            if size > MOST_SNAPPY_GROWTH * len(packed):
                raise ValueError(f"{len(packed)} bytes that would unpack to {size}")
            return memoryview(unpacked(bytes(packed), size, start))
        except ValueError as error:
            raise self._bad(handle.offset, "a snappy block", str(error)) from None

    def _bad(self, at: int, expected: str, actual: str) -> UnreadableFile:
        return UnreadableFile(f"{self.label}, byte {at}: expected {expected}, found {actual}")


class TableBlock:
    """Entries whose keys omit the prefix shared with the previous key, then the offsets of whole keys."""

    def __init__(self, data: memoryview, label: str, offset: int) -> None:
        self.data, self.label, self.offset = data, label, offset
        self.restarts = int.from_bytes(data[-4:], "little")
        self.end = len(data) - 4 - 4 * self.restarts
        if not self.restarts or self.end < 0:
            raise self._bad(f"restart points in {len(data)} bytes", str(self.restarts))

    def entries(self, at: int = 0) -> Iterator[tuple[bytes, memoryview]]:
        """Keys and values, starting at the offset of a whole key."""
        data, end, key, left = self.data, self.end, b"", MOST_GROWTH * len(self.data)
        first = True
        while at < end:
            shared, unshared, size, at = self._head(at)
            value_at = at + unshared
            if shared > len(key) or value_at + size > end:
                raise self._bad("an entry that fits", f"one of {shared} + {unshared} + {size} bytes")
            before, key = key, key[:shared] + bytes(data[at:value_at])
            left -= len(key)
            if left < 0:
                raise self._bad(f"keys of {MOST_GROWTH * len(data)} bytes or fewer", "more")
            if key <= before and not first:
                raise self._bad("keys in order", f"{key[:40]!r} after {before[:40]!r}")
            at, first = value_at + size, False
            yield key, data[value_at:at]

    def find(self, key: bytes) -> memoryview | None:
        """The value of a key, or None."""
        at = bisect_right(range(self.restarts), key, key=self._restart_key)
        for entry_key, value in self.entries(self._restart(max(at - 1, 0))):
            if entry_key >= key:
                return value if entry_key == key else None
        return None

    def _head(self, at: int) -> tuple[int, int, int, int]:
        data = self.data
        try:
            shared, unshared, size = data[at], data[at + 1], data[at + 2]
            if shared < 128 and unshared < 128 and size < 128:  # the common case
                return shared, unshared, size, at + 3
            shared, at = from_varint(data, at)
            unshared, at = from_varint(data, at)
            size, at = from_varint(data, at)
        except (ValueError, IndexError):
            raise self._bad("an entry", "the end of the block") from None
        return shared, unshared, size, at

    def _restart(self, number: int) -> int:
        at = self.end + 4 * number
        return int.from_bytes(self.data[at : at + 4], "little")

    def _restart_key(self, number: int) -> bytes:
        return next(self.entries(self._restart(number)), (b"", None))[0]

    def _bad(self, expected: str, actual: str) -> UnreadableFile:
        return UnreadableFile(
            f"{self.label}, block at byte {self.offset}: expected {expected}, found {actual}"
        )


def shown(data: bytes) -> str:
    """Bytes for a message."""
    return data.hex(" ") if any(data) else f"{len(data)} zero bytes"
