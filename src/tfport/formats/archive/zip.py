"""Read the members of a .zip: stored ones in place, compressed ones unpacked when read.

Checksums are verified for compressed members only. Stored members are trusted like
ordinary files.
"""

from __future__ import annotations

import io
import mmap
import posixpath
import stat
import struct
import zipfile
from collections.abc import Callable
from typing import Any

from tfport.errors import UnreadableFile
from tfport.formats.archive.archive import Archive, Entries, Member, Tree, tree_of
from tfport.formats.archive.unpack import unpack
from tfport.formats.file_reader import FileReader
from tfport.formats.files import reason

METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA}
METHOD_NAMES = {9: "deflate64", 93: "zstandard", 95: "xz", 98: "PPMd", 99: "AES encryption"}
BROKEN = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    ValueError,
    EOFError,
    struct.error,
    OverflowError,
)
LARGEST_DIRECTORY = 64 * 2**20
LONGEST_LINK = 4096
END = b"PK\x05\x06"


class ViewFile(io.RawIOBase):
    """A file over bytes in memory, which are not copied."""

    def __init__(self, data: memoryview) -> None:
        self.data, self.at = data, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self.at}.get(whence, len(self.data))
        if start + offset < 0:
            raise ValueError("a position before the file")
        self.at = start + offset
        return self.at

    def readinto(self, buffer: Any) -> int:
        part = self.data[self.at : self.at + len(buffer)]
        buffer[: len(part)] = part
        self.at += len(part)
        return len(part)


def read_zip(path: str, reader: FileReader) -> Tree:
    """The tree of a zip file."""
    try:
        return zip_tree(reader.read(path), path)
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None


def zip_tree(data: memoryview, where: str) -> Tree:
    """The tree of a zip file with these bytes."""
    return tree_of(zip_entries(data, where), where)


def zip_entries(data: memoryview, where: str) -> Entries:
    """The members of a zip file with these bytes, whatever their names."""
    try:
        check_directory(data, where)
        opened = zipfile.ZipFile(io.BufferedReader(ViewFile(data)))
        return [(plain_name(i), member(opened, i, data, where)) for i in opened.infolist()]
    except OSError as error:
        raise UnreadableFile(f"{where}: {reason(error)}") from None
    except BROKEN as error:
        raise UnreadableFile(f"{where}: a damaged zip file ({error})") from None


def zip_files(data: memoryview, where: str) -> Archive:
    """The files of a zip file with these bytes."""
    return Archive(where, zip_tree(data, where))


def check_directory(data: memoryview, where: str) -> None:
    """Check that the directory at the end exists and is not too large; a truncated file has none."""
    tail = bytes(data[-(2**16 + 22) :])
    at = tail.rfind(END)
    if at < 0:
        raise UnreadableFile(
            f"{where}: the end of the zip file is missing; the download or copy was cut short"
        )
    if directory_size(data, len(data) - len(tail) + at) > LARGEST_DIRECTORY:
        raise UnreadableFile(f"{where}: the zip directory is larger than {LARGEST_DIRECTORY} bytes")


def directory_size(data: memoryview, end: int) -> int:
    """The size in the end record; in a large zip, the size in the record that a locator points to."""
    if len(data) < end + 22:
        return 0
    (size,) = struct.unpack_from("<I", data, end + 12)
    if size == 2**32 - 1 and end >= 20:
        (record,) = struct.unpack_from("<Q", data, end - 12)
        size = struct.unpack_from("<Q", data, record + 40)[0] if record + 48 <= len(data) else 0
    return int(size)


def plain_name(info: zipfile.ZipInfo) -> str:
    # some Windows tools write backslashes, though the format requires slashes
    return info.filename.replace("\\", "/")


def member(opened: zipfile.ZipFile, info: zipfile.ZipInfo, data: memoryview, path: str) -> Member | None:
    """A member that reads itself; None for a folder."""
    name = plain_name(info)
    if name.endswith("/"):
        return None
    where = posixpath.join(path, name)
    if stat.S_ISLNK(info.external_attr >> 16) and info.file_size <= LONGEST_LINK:
        target = bytes(reader(opened, info, data, where)()).decode("utf-8", "replace")
        return Member(0, bytes, posixpath.join(posixpath.dirname(name), target))
    packed = info.compress_size if info.compress_type != zipfile.ZIP_STORED else None
    read = reader(opened, info, data, where)
    return Member(info.file_size, read, packed=packed, other_name=other_name(info, data))


def other_name(info: zipfile.ZipInfo, data: memoryview) -> str:
    """The name before the data of a member, or with a null byte, if the directory has another."""
    if "\0" in info.orig_filename:
        return info.orig_filename
    at = info.header_offset
    if not 0 <= at <= len(data) - 30 or bytes(data[at : at + 4]) != b"PK\x03\x04":
        return ""
    (size,) = struct.unpack_from("<H", data, at + 26)
    stored_name = bytes(data[at + 30 : at + 30 + size])
    same = (info.orig_filename.encode("utf-8", "replace"), info.orig_filename.encode("cp437", "replace"))
    return "" if stored_name in same else stored_name.decode("utf-8", "replace")


def reader(
    opened: zipfile.ZipFile, info: zipfile.ZipInfo, data: memoryview, where: str
) -> Callable[[], memoryview | mmap.mmap | bytes]:
    def read() -> memoryview | mmap.mmap | bytes:
        if info.flag_bits & 1:
            raise UnreadableFile(f"{where}: encrypted; unpack the archive with its password first")
        if info.compress_type not in METHODS:
            method = METHOD_NAMES.get(info.compress_type, f"method {info.compress_type}")
            raise UnreadableFile(
                f"{where}: compressed with {method}, which Python cannot unpack; unpack it first"
            )
        try:
            if info.compress_type == zipfile.ZIP_STORED:
                return stored(info, data, where)
            if getattr(info, "_end_offset", None) == info.header_offset:
                info._end_offset = None  # type: ignore[attr-defined]  # Python 3.14 warns; `scan` reports these
            with opened.open(info) as source:
                return unpack(source, info.compress_size, where, info.file_size)
        except OSError as error:
            raise UnreadableFile(f"{where}: cannot be unpacked ({reason(error)})") from None
        except BROKEN as error:
            raise UnreadableFile(f"{where}: damaged in the archive ({error})") from None

    return read


def stored(info: zipfile.ZipInfo, data: memoryview, where: str) -> memoryview:
    """The bytes of a member that is not compressed, which follow its local header."""
    at = info.header_offset
    if at < 0 or bytes(data[at : at + 4]) != b"PK\x03\x04" or len(data) < at + 30:
        raise UnreadableFile(f"{where}: expected a member at byte {at} of the archive, found none")
    name, extra = struct.unpack_from("<HH", data, at + 26)
    start = at + 30 + name + extra
    if info.file_size != info.compress_size or start + info.file_size > len(data):
        raise UnreadableFile(
            f"{where}: the archive ends before this member does; it was cut short or damaged"
        )
    return data[start : start + info.file_size]
