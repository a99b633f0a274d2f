"""Read TFRecord files: for each record a length, the bytes, and checksums of both.

This reads files that belong to a model, and streams of tables to score. `runtime.ops.data` reads the data
files of input pipelines.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from tfport.errors import UnreadableFile
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.files import Files

HEAD, FOOT = 12, 4


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
    at = 0
    while head := read(HEAD):
        if len(head) < HEAD:
            raise UnreadableFile(f"{where}, byte {at}: the record is truncated")
        _check(memoryview(head)[:8], memoryview(head)[8:], where, at)
        (length,) = struct.unpack("<Q", head[:8])
        data, foot = read(length), read(FOOT)
        if len(data) < length or len(foot) < FOOT:
            raise UnreadableFile(f"{where}, byte {at}: the record is truncated")
        try:
            _check(memoryview(data), memoryview(foot), where, at)
            yield data
        except UnreadableFile as error:
            yield error
        at += HEAD + length + FOOT


def _check(data: memoryview, stored: memoryview, where: str, at: int) -> None:
    if masked(checksum(data)) != struct.unpack("<I", stored)[0]:
        raise UnreadableFile(f"{where}, byte {at}: the record is corrupt: its checksum does not match")


def record(data: bytes) -> bytes:
    """The bytes of a record in a file."""
    length = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked(checksum(part))) for part in (length, data)]
    return length + sums[0] + data + sums[1]
