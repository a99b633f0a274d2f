"""The containers of tree nodes: blob sequences, plain or compressed, and TFRecord files.

`node_spans(files, names, format)` returns one buffer with the nodes of all shards, and where each is.
"""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING

import numpy as np

from tfport.errors import UnreadableFile
from tfport.formats.encoding.tfrecord import read_records

if TYPE_CHECKING:
    from tfport.formats.encoding.message_columns import Ints
    from tfport.formats.files import Files

BLOBS, COMPRESSED_BLOBS, RECORDS = "BLOB_SEQUENCE", "BLOB_SEQUENCE_GZIP", "TFE_RECORDIO"
FORMATS = (BLOBS, COMPRESSED_BLOBS, RECORDS)
HEADER = 8
NEWEST_VERSION = 1
MOST_BYTES = 1 << 31
"""The largest decompressed file; Yggdrasil writes shards of about 200 MB."""


def node_spans(files: Files, names: list[str], node_format: str) -> tuple[bytes, Ints, Ints]:
    """The bytes of all files, and the start and end of each node in them."""
    if node_format not in FORMATS:
        raise UnreadableFile(
            f"{files.where}: the nodes of this forest are stored as `{node_format[:40]}`; "
            f"tfport reads {', '.join(FORMATS)}"
        )
    contents, starts, ends, size = [], [], [], 0
    for name in names:
        data, start, end = _records(files, name) if node_format == RECORDS else _blobs(files, name)
        contents.append(data)
        starts.append(start + size)
        ends.append(end + size)
        size += len(data)
    return b"".join(contents), np.concatenate(starts), np.concatenate(ends)


def _records(files: Files, name: str) -> tuple[bytes, Ints, Ints]:
    records = list(map(bytes, read_records(files, name)))
    ends = np.cumsum([len(record) for record in records], dtype=np.int64)
    return b"".join(records), np.concatenate([[0], ends])[:-1].astype(np.int64), ends


def _blobs(files: Files, name: str) -> tuple[bytes, Ints, Ints]:
    data, where = bytes(files.map(name)), files.label(name)
    if len(data) < HEADER or data[:2] != b"BS":
        raise UnreadableFile(f"{where}: expected a blob sequence, found {data[:HEADER]!r}")
    version, compression = struct.unpack("<HB", data[2:5])
    if version > NEWEST_VERSION:
        raise UnreadableFile(
            f"{where}: expected version 0 or 1 of the blob sequence format, found version {version}"
        )
    data = data[HEADER:]
    if version and compression == 1:
        data = _inflated(data, where)
    elif version and compression:
        raise UnreadableFile(f"{where}: expected no compression or gzip, found compression {compression}")
    starts, at = [], 0
    while at < len(data):
        if len(data) - at < 4:
            raise UnreadableFile(f"{where}, byte {HEADER + at}: the blob is truncated")
        starts.append(at + 4)
        at += 4 + int.from_bytes(data[at : at + 4], "little")
    if at > len(data):
        raise UnreadableFile(f"{where}, byte {HEADER + starts[-1]}: the blob is truncated")
    start = np.array(starts, np.int64)
    return data, start, np.concatenate([start[1:] - 4, [at]])[: len(start)].astype(np.int64)


def _inflated(data: bytes, where: str) -> bytes:
    stream = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        out = stream.decompress(data, MOST_BYTES)
    except zlib.error as error:
        raise UnreadableFile(f"{where}: the compressed blobs are damaged: {error}") from None
    if not stream.eof:
        problem = "are larger than 2 GiB" if stream.unconsumed_tail else "are truncated"
        raise UnreadableFile(f"{where}: the compressed blobs {problem}")
    return out
