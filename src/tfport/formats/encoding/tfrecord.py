"""Read TFRecord files: for each record a length, the bytes, and checksums of both.

This reads files that belong to a model, and streams of tables to score. `runtime.ops.data` reads the data
files of input pipelines.
"""

from __future__ import annotations

import functools
import itertools
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
    for block in record_blocks(read, where):
        yield from block


def record_blocks(read: Callable[[int], bytes], where: str) -> Iterator[list[bytes | UnreadableFile]]:
    """The same, as lists of the records that were read at a time."""
    data, before, needed = b"", 0, HEAD
    while more := read(min(max(needed - len(data), BLOCK), MOST)):
        data += more
        at, lengths, sums, records, feet = 0, list[int](), list[int](), list[bytes](), list[int]()
        needed = HEAD
        while len(data) - at >= HEAD:
            length, stored = _HEAD.unpack_from(data, at)
            lengths.append(length)
            sums.append(stored)
            end = at + HEAD + length
            if end + FOOT > len(data):
                needed = end + FOOT - at
                break
            records.append(data[at + HEAD : end])
            feet.append(_FOOT.unpack_from(data, end)[0])
            at = end + FOOT
        expected = list(map(_sum_of_length, lengths))
        if sums != expected:
            wrong = next(i for i, pair in enumerate(zip(sums, expected, strict=True)) if pair[0] != pair[1])
            yield _checked(records[:wrong], feet[:wrong], where, before)
            start = before + sum(lengths[:wrong]) + wrong * (HEAD + FOOT)
            raise UnreadableFile(f"{where}, byte {start}: {_CORRUPT}")
        if records:
            yield _checked(records, feet, where, before)
        data, before = data[at:], before + at
    if data:
        raise UnreadableFile(f"{where}, byte {before}: the record is truncated")


def _checked(records: list[bytes], feet: list[int], where: str, start: int) -> list[bytes | UnreadableFile]:
    """The records, and errors about those whose checksum is wrong; the first one begins at `start`."""
    import numpy as np  # only for tables to score

    checked: list[bytes | UnreadableFile] = list(records)
    sums = np.fromiter(map(extension(), itertools.repeat(0), records), np.uint64, len(records))
    for wrong in np.flatnonzero(masked(sums) != np.array(feet, np.uint64)).tolist():
        byte = start + sum(map(len, records[:wrong])) + wrong * (HEAD + FOOT)
        checked[wrong] = UnreadableFile(f"{where}, byte {byte}: {_CORRUPT}")
    return checked


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
