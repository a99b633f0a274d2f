"""Read TFRecord files: for each record a length, the bytes, and checksums of both.

This reads files that belong to a model, and streams of tables to score. `runtime.ops.data` reads the data
files of input pipelines.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterator

from tfport.errors import UnreadableFile
from tfport.formats.encoding.crc32c import checksum, extension, masked
from tfport.formats.files import Files

HEAD, FOOT = 12, 4
BLOCK, MOST = 1 << 20, 64 << 20
"""Bytes of a stream that are read at a time, at least and at most."""
_HEAD, _FOOT = struct.Struct("<QI"), struct.Struct("<I")
_CORRUPT = "the record is corrupt: its checksum does not match"


def read_records(files: Files, name: str) -> Iterator[memoryview]:
    """The records of a file, in order; an error at the first record that is truncated or damaged."""
    data, where = files.map(name), files.label(name)
    at = 0
    while at < len(data):
        if len(data) - at < HEAD:
            raise UnreadableFile(f"{where}, byte {at}: the record is truncated")
        length = data[at : at + 8]
        _check(length, data[at + 8 : at + HEAD], where, at)
        end = at + HEAD + struct.unpack("<Q", length)[0]
        if end + FOOT > len(data):
            raise UnreadableFile(f"{where}, byte {at}: the record is truncated")
        record = data[at + HEAD : end]
        _check(record, data[end : end + FOOT], where, at)
        yield record
        at = end + FOOT


def stream_records(read: Callable[[int], bytes], where: str) -> Iterator[bytes | UnreadableFile]:
    """The records of a stream, in order, without the whole file in memory.

    A record with a wrong checksum is the error about it, and reading goes on; a wrong length is raised.
    """
    extend, data, at, before = extension(), b"", 0, 0
    while True:
        needed = HEAD
        while len(data) - at >= needed:
            length, stored = _HEAD.unpack_from(data, at)
            if stored != _sum_of_length(length):
                raise UnreadableFile(f"{where}, byte {before + at}: {_CORRUPT}")
            end = at + HEAD + length
            needed = end + FOOT - at
            if needed > len(data) - at:
                break
            record = data[at + HEAD : end]
            is_same = masked(extend(0, record)) == _FOOT.unpack_from(data, end)[0]
            yield record if is_same else UnreadableFile(f"{where}, byte {before + at}: {_CORRUPT}")
            at, needed = end + FOOT, HEAD
        more = read(min(max(needed, BLOCK), MOST))
        if not more:
            break
        data, before, at = data[at:] + more, before + at, 0
    if at < len(data):
        raise UnreadableFile(f"{where}, byte {before + at}: the record is truncated")


@functools.lru_cache(1 << 14)
def _sum_of_length(length: int) -> int:
    """The checksum of the length of a record; few lengths occur."""
    return masked(checksum(struct.pack("<Q", length)))


def _check(data: memoryview, stored: memoryview, where: str, at: int) -> None:
    if masked(checksum(data)) != struct.unpack("<I", stored)[0]:
        raise UnreadableFile(f"{where}, byte {at}: {_CORRUPT}")


def record(data: bytes) -> bytes:
    """The bytes of a record in a file."""
    length = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked(checksum(part))) for part in (length, data)]
    return length + sums[0] + data + sums[1]
