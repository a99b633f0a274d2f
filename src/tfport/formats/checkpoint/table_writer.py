"""Write sorted tables, as `table` reads them: `write_table(file, items)`.

Blocks are not compressed, as in TensorFlow's own checkpoints: releases before 1.1 cannot read
compressed ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from tfport.formats.checkpoint.table import FOOTER, MAGIC, PLAIN, Handle
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.encoding.wire import to_varint

BLOCK_SIZE = 256 * 1024  # with this and the next value, the bytes are the same as TensorFlow's


RESTART_EVERY = 16


def write_table(file: BinaryIO, items: Iterable[tuple[bytes, bytes]]) -> None:
    """Write a table; keys must be sorted and unique."""
    index, block, key, at = BlockBuilder(restart_every=1), BlockBuilder(), b"", 0
    for next_key, value in items:
        if block.size() >= BLOCK_SIZE:
            at = add_block(file, block, at, index, separator(key, next_key))
            block = BlockBuilder()
        block.add(next_key, value)
        key = next_key
    if block.out:
        at = add_block(file, block, at, index, successor(key))
    metaindex = write_block(file, BlockBuilder(), at)
    indices = packed(metaindex) + packed(write_block(file, index, metaindex.end))
    file.write(indices.ljust(FOOTER - len(MAGIC), b"\0") + MAGIC)


class BlockBuilder:
    """The bytes of a block, entry by entry."""

    def __init__(self, restart_every: int = RESTART_EVERY) -> None:
        self.out = bytearray()
        self.restarts = [0]
        self.restart_every = restart_every
        self.since, self.key = 0, b""

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self.since == self.restart_every:
            self.restarts.append(len(self.out))
            self.since = 0
        elif self.since:
            shared = shared_prefix(self.key, key)
        self.out += to_varint(shared) + to_varint(len(key) - shared) + to_varint(len(value))
        self.out += key[shared:] + value
        self.since, self.key = self.since + 1, key

    def size(self) -> int:
        return len(self.out) + 4 * len(self.restarts) + 4

    def finish(self) -> bytes:
        tail = [*self.restarts, len(self.restarts)]
        return bytes(self.out) + b"".join(n.to_bytes(4, "little") for n in tail)


def add_block(file: BinaryIO, block: BlockBuilder, at: int, index: BlockBuilder, last_key: bytes) -> int:
    """Write a data block and add it to the index; return the offset of the next block."""
    handle = write_block(file, block, at)
    index.add(last_key, packed(handle))
    return handle.end


def write_block(file: BinaryIO, block: BlockBuilder, at: int) -> Handle:
    data = block.finish() + bytes([PLAIN])
    file.write(data + masked(checksum(data)).to_bytes(4, "little"))
    return Handle(at, len(data) - 1)


def packed(handle: Handle) -> bytes:
    return to_varint(handle.offset) + to_varint(handle.size)


def shared_prefix(a: bytes, b: bytes) -> int:
    """The length of the common prefix of two keys."""
    for at, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return at
    return min(len(a), len(b))


def separator(last: bytes, first: bytes) -> bytes:
    """A short key between the last key of a block (inclusive) and the first key of the next (exclusive)."""
    at = shared_prefix(last, first)
    if at < min(len(last), len(first)) and last[at] + 1 < first[at]:
        return last[:at] + bytes([last[at] + 1])
    return last


def successor(key: bytes) -> bytes:
    """A short key after this one."""
    for at, byte in enumerate(key):
        if byte != 0xFF:
            return key[:at] + bytes([byte + 1])
    return key
