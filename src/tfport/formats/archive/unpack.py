"""Unpack compressed bytes into an unnamed temporary file and map it.

The file disappears with the map. Its size is limited to what the archive
declares, what fits on the disk, and `MOST_RATIO` times the compressed size.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import mmap
import shutil
import tempfile
import zlib
from typing import IO, Any, Protocol

from tfport.errors import UnreadableFile
from tfport.formats.encoding.wire import count
from tfport.formats.file_reader import RESERVE
from tfport.formats.files import reason

MOST_RATIO = 250
"""Weights compress to a tenth at best; deflate reaches 1032 for zeros, and other methods far more."""
HARMLESS = 64 * 2**20
"""This much is always allowed: small files of zeros are common."""
CHUNK = 2**20

BROKEN = (EOFError, zlib.error, lzma.LZMAError, ValueError, MemoryError)
OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}
"""Functions that open a compressed file, by its first bytes."""


class ByteSource(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes: ...


def unpacked_head(path: str | IO[bytes], head: bytes, size: int) -> bytes:
    """The first uncompressed bytes of a compressed file; none if it is damaged."""
    try:
        with open_compressed(path, head) as file:
            return file.read(size)
    except (OSError, *BROKEN):
        return b""


def open_compressed(path: str | IO[bytes], head: bytes) -> IO[bytes]:
    opener = next(opener for magic, opener in OPENERS.items() if head.startswith(magic))
    file: IO[bytes] = opener(path, "rb")
    return file


def unpack(source: ByteSource, packed: int, where: str, declared: int | None = None) -> mmap.mmap | bytes:
    """All bytes of `source`, whose compressed size is `packed`."""
    if declared is not None:
        check_ratio(declared, packed, where)
        check_disk(declared, where)
    try:
        with tempfile.TemporaryFile() as file:
            total = copy_bounded(source, file, packed, where, declared)
            file.flush()
            # mmap does not support empty files
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if total else b""
    except BROKEN as error:
        raise damaged(where, error) from None
    except OSError as error:  # the gzip module raises it without a number for data that is not gzip
        raise (
            UnreadableFile(f"{where}: {reason(error)}") if error.errno else damaged(where, error)
        ) from None


def copy_bounded(source: ByteSource, into: IO[bytes], packed: int, where: str, declared: int | None) -> int:
    total = 0
    while chunk := source.read(CHUNK):
        total += len(chunk)
        if declared is None:
            check_ratio(total, packed, where)
            check_disk(len(chunk), where)
        elif total > declared:
            raise UnreadableFile(
                f"{where}: unpacks to more than the {count(declared)} that the archive declares"
            )
        into.write(chunk)
    if declared is not None and total < declared:
        raise UnreadableFile(f"{where}: unpacks to {count(total)}, but the archive declares {declared}")
    return total


def check_ratio(size: int, packed: int, where: str) -> None:
    if size > max(HARMLESS, packed * MOST_RATIO):
        raise UnreadableFile(
            f"{where}: {count(packed)} would unpack to {size} or more, over {MOST_RATIO} times as much; "
            "no model compresses like that, so tfport does not unpack it"
        )


def check_disk(size: int, where: str) -> None:
    folder = tempfile.gettempdir()
    free = max(0, shutil.disk_usage(folder).free - RESERVE)
    if size > free:
        raise UnreadableFile(
            f"{where}: unpacking needs {count(size)}, but {folder} has only {free} free; "
            "set TMPDIR to a larger disk, or unpack it there"
        )


def damaged(where: str, error: Exception) -> UnreadableFile:
    message = str(error) or type(error).__name__
    return UnreadableFile(f"{where}: the compressed data is cut short or damaged ({message})")
