"""Datasets of the records of files: TFRecords, lines, fixed-length records.

A model may read its own files only."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tfport.errors import RunFailed
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.graph.dtypes import STRING
from tfport.graph.shapes import Shape
from tfport.runtime.ops.data.dataset import Dataset, Element
from tfport.runtime.ops.strings.byte_strings import string_array
from tfport.startup.dataclass import dataclass

MOST_UNPACKED = 1 << 31
_WINDOWS = {b"ZLIB": zlib.MAX_WBITS, b"GZIP": zlib.MAX_WBITS | 16}
Cut = Callable[[str, bytes], Iterator[bytes]]
"""Splits the bytes of a named file into records."""


@dataclass(eq=False)
class RecordFiles(Dataset):
    """The records of files in order; a file is read when it is reached."""

    names: Sequence[bytes]
    compression: bytes
    read: Callable[[str], Any]
    cut: Cut
    types = (STRING,)
    shapes = (Shape(()),)

    def __post_init__(self) -> None:
        if self.compression and self.compression not in _WINDOWS:
            raise RunFailed(
                f"unknown compression {self.compression.decode(errors='replace')!r}; expected ZLIB or GZIP"
            )

    def iterate(self) -> Iterator[Element]:
        for name in self.names:
            path = name.decode(errors="replace")
            for record in self.cut(path, self._data(path)):
                yield (string_array([record], ()),)

    def _data(self, path: str) -> bytes:
        data = bytes(self.read(path))
        return unpacked(path, data, self.compression) if self.compression else data


def unpacked(path: str, data: bytes, compression: bytes) -> bytes:
    parts, rest = [], data
    left = MOST_UNPACKED
    while rest:  # a file may have several members
        inflate = zlib.decompressobj(_WINDOWS[compression])
        try:
            parts.append(inflate.decompress(rest, left))
        except zlib.error as error:
            raise RunFailed(f"{path}: {error}") from None
        left -= len(parts[-1])
        if not inflate.eof:
            raise RunFailed(f"{path}: the compressed data is truncated, or larger than 2 GB")
        rest = inflate.unused_data
    return b"".join(parts)


def lines(path: str, data: bytes) -> Iterator[bytes]:
    """Lines without line ends; as in TensorFlow, carriage returns are removed everywhere."""
    rows = data.replace(b"\r", b"").split(b"\n")
    return iter(rows if rows[-1] else rows[:-1])


def records(start: Callable[[str], int]) -> Cut:
    """The records of a TFRecord file: a length, the bytes, and checksums of both."""

    def cut(path: str, data: bytes) -> Iterator[bytes]:
        at = start(path)
        while at + 12 <= len(data):  # as in TensorFlow, fewer bytes at the end are ignored
            head = data[at : at + 8]
            _check(path, at, head, data[at + 8 : at + 12])
            end = at + 12 + struct.unpack("<Q", head)[0]
            if end + 4 > len(data):
                raise RunFailed(f"{path}, byte {at}: the record is truncated")
            record = data[at + 12 : end]
            _check(path, at, record, data[end : end + 4])
            yield record
            at = end + 4

    return cut


def _check(path: str, at: int, data: bytes, stored: bytes) -> None:
    if masked(checksum(data)) != struct.unpack("<I", stored)[0]:
        raise RunFailed(f"{path}, byte {at}: the record is corrupted: its checksum does not match")


def pieces(header: int, size: int, footer: int) -> Cut:
    """Records of a fixed length between a header and a footer."""
    if size <= 0 or header < 0 or footer < 0:
        raise RunFailed(f"invalid sizes: record_bytes={size}, header_bytes={header}, footer_bytes={footer}")

    def cut(path: str, data: bytes) -> Iterator[bytes]:
        body = max(0, len(data) - header - footer)
        if body % size:
            raise RunFailed(f"{path} has {body} bytes of records, not a multiple of {size}")
        for at in range(header, header + body, size):
            yield data[at : at + size]

    return cut
