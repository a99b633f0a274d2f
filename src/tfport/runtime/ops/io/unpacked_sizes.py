"""How large compressed data becomes, before the memory for it is allocated.

A deflate stream does not say: it is decompressed up to the limit of the run. Zstandard says for each block.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from tfport.runtime.bounds.run_scope import memory_left, reserve_memory

LARGEST_BLOCK = 128 * 2**10
"""What a compressed block of Zstandard becomes at most."""
_FRAME, _SKIPPED = 0xFD2FB528, 0x184D2A50
_SIZE_FIELDS, _DICTIONARY_FIELDS = (0, 2, 4, 8), (0, 1, 2, 4)
_RAW, _REPEATED = 0, 1


def inflated(stream: Any, data: bytes, most: int = 0) -> bytes:
    """What a `zlib.decompressobj` makes of data, within the limit of the run, and `most` bytes if set."""
    left = memory_left()
    if left is None:
        return bytes(stream.decompress(data, most))
    # zlib joins its blocks at the end, so that twice the memory is used for a moment
    part = bytes(stream.decompress(data, min(left // 2 + 1, most or left + 1)))
    reserve_memory(len(part), len(part))
    return part


def most_unpacked(data: bytes) -> int:
    """The size that Zstandard data becomes at most; of damaged data, up to where it is damaged."""
    try:
        return sum(_block_sizes(data))
    except (struct.error, IndexError):
        return 0  # the decoder says how it is damaged


def _block_sizes(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        (magic,) = struct.unpack_from("<I", data, at)
        if magic & ~0xF == _SKIPPED:
            at += 8 + struct.unpack_from("<I", data, at + 4)[0]
            continue
        if magic != _FRAME:
            return
        flags = data[at + 4]
        is_single = flags >> 5 & 1
        size_field = _SIZE_FIELDS[flags >> 6] or is_single
        at += 5 + (not is_single) + _DICTIONARY_FIELDS[flags & 3] + size_field
        is_last = False
        while not is_last:
            head = int.from_bytes(data[at : at + 3], "little") if at + 3 <= len(data) else 1
            is_last, kind, size = bool(head & 1), head >> 1 & 3, head >> 3
            yield size if kind in (_RAW, _REPEATED) else LARGEST_BLOCK
            at += 3 + (1 if kind == _REPEATED else size)
        at += 4 * (flags >> 2 & 1)
