"""Read TFRecord files: for each record a length, the bytes, and checksums of both.

This reads files that belong to a model, and streams of tables to score. `runtime.ops.data` reads the data
files of input pipelines.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.formats.encoding.crc32c import checksum, extension, masked
from tfport.formats.files import Files

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

HEAD, FOOT = 12, 4
BLOCK, MOST = 1 << 20, 64 << 20
"""Bytes of a stream that are read at a time, at least and at most."""
_LENGTH = struct.Struct("<Q")
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
        starts, needed = _starts(data)
        wrong = _wrong_length(data, starts)
        if records := _checked(data, starts[: wrong + 1] if wrong is not None else starts, where, before):
            yield records
        if wrong is not None:
            raise UnreadableFile(f"{where}, byte {before + starts[wrong]}: {_CORRUPT}")
        data, before = data[starts[-1] :], before + starts[-1]
    if data:
        raise UnreadableFile(f"{where}, byte {before}: the record is truncated")


def _starts(data: bytes) -> tuple[list[int], int]:
    """Where records begin, the last of which is not whole, and how many bytes that one needs."""
    at, end, starts, length = 0, len(data), [0], _LENGTH.unpack_from
    while at + HEAD <= end:
        at += length(data, at)[0] + HEAD + FOOT
        starts.append(at)
    if at <= end:
        return starts, HEAD
    starts.pop()
    return starts, at - starts[-1]


def _wrong_length(data: bytes, starts: list[int]) -> int | None:
    """The index of the first record whose length has a wrong checksum."""
    import numpy as np  # only for tables to score

    begins = np.array(starts if len(data) - starts[-1] >= HEAD else starts[:-1], np.int64)
    lengths, sizes = _numbers(data, begins, "<u8"), np.unique(_numbers(data, begins, "<u8"))
    expected = np.array([masked(checksum(_LENGTH.pack(size))) for size in sizes.tolist()], np.uint32)
    wrong = np.flatnonzero(_numbers(data, begins + 8, "<u4") != expected[np.searchsorted(sizes, lengths)])
    return int(wrong[0]) if len(wrong) else None


def _checked(data: bytes, starts: list[int], where: str, before: int) -> list[bytes | UnreadableFile]:
    """The records between the starts, and errors about those whose checksum is wrong."""
    import numpy as np

    records = [data[at + HEAD : end - FOOT] for at, end in itertools.pairwise(starts)]
    checked: list[bytes | UnreadableFile] = list(records)
    sums = np.fromiter(map(extension(), itertools.repeat(0), records), np.uint32, len(records))
    feet = _numbers(data, np.array(starts[1:], np.int64) - FOOT, "<u4")
    for wrong in np.flatnonzero(masked(sums) != feet).tolist():
        checked[wrong] = UnreadableFile(f"{where}, byte {before + starts[wrong]}: {_CORRUPT}")
    return checked


def _numbers(data: bytes, positions: NDArray[np.int64], dtype: str) -> NDArray[Any]:
    """The numbers at these positions."""
    import numpy as np

    size = np.dtype(dtype).itemsize
    every = np.ndarray((max(len(data) - size + 1, 0),), dtype, data, 0, (1,))  # they overlap
    return every[positions]


def _check(data: memoryview, stored: memoryview, where: str, at: int) -> None:
    if masked(checksum(data)) != struct.unpack("<I", stored)[0]:
        raise UnreadableFile(f"{where}, byte {at}: {_CORRUPT}")


def record(data: bytes) -> bytes:
    """The bytes of a record in a file."""
    length = struct.pack("<Q", len(data))
    sums = [struct.pack("<I", masked(checksum(part))) for part in (length, data)]
    return length + sums[0] + data + sums[1]
