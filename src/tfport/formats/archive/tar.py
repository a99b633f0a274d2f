"""Read the members of a .tar in place. A compressed tar is unpacked once, as a whole.

Listing it needs a full pass in any case, and another pass for each member
would cost more than the temporary file.
"""

from __future__ import annotations

import io
import os
import posixpath
import tarfile
from collections.abc import Iterator
from itertools import islice

from tfport.errors import UnreadableFile
from tfport.formats.archive.archive import COMPRESSED, MOST_MEMBERS, Entries, Member, Tree, tree_of
from tfport.formats.archive.unpack import open_compressed, unpack
from tfport.formats.file_reader import FileReader
from tfport.formats.files import reason

BROKEN = (tarfile.TarError, EOFError, ValueError, OverflowError, IndexError, KeyError)


def read_tar(path: str, head: bytes, reader: FileReader) -> Tree:
    """The tree of a tar file, compressed or not."""
    try:
        data = tar_bytes(path, head, reader)
        with tarfile.open(fileobj=MappedFile(data), mode="r:") as opened:
            return tree_of(entries(opened, data, path), path)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    except BROKEN as error:
        raise UnreadableFile(f"{path}: a damaged tar file ({error})") from None


def tar_entries(data: memoryview, head: bytes, where: str) -> Entries:
    """The members of a tar file with these bytes, compressed or not, whatever their names."""
    try:
        plain = data
        if head.startswith(COMPRESSED):
            with open_compressed(io.BytesIO(data), head) as source:
                plain = memoryview(unpack(source, len(data), where))
        with tarfile.open(fileobj=MappedFile(plain), mode="r:") as opened:
            return list(entries(opened, plain, where))
    except OSError as error:
        raise UnreadableFile(f"{where}: {reason(error)}") from None
    except BROKEN as error:
        raise UnreadableFile(f"{where}: a damaged tar file ({error})") from None


def tar_bytes(path: str, head: bytes, reader: FileReader) -> memoryview:
    if not head.startswith(COMPRESSED):
        return reader.read(path)
    reader.watch(path)
    with open_compressed(path, head) as source:
        return memoryview(unpack(source, os.path.getsize(path), path))


class MappedFile(io.RawIOBase):
    """Mapped bytes as a file. Unlike mmap, it allows seeking past the end."""

    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.at = 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: len(self.data)}[whence]
        self.at = max(0, base + offset)
        return self.at

    def tell(self) -> int:
        return self.at

    def read(self, size: int = -1) -> bytes:
        end = len(self.data) if size < 0 else self.at + size
        chunk = bytes(self.data[self.at : end])
        self.at += len(chunk)
        return chunk


def entries(opened: tarfile.TarFile, data: memoryview, path: str) -> Iterator[tuple[str, Member | None]]:
    for info in islice(opened, MOST_MEMBERS + 1):  # one more than allowed, so that the tree refuses it
        yield info.name, member(info, data, path)


def member(info: tarfile.TarInfo, data: memoryview, path: str) -> Member | None:
    """A member that reads itself; None for a folder."""
    where = posixpath.join(path, info.name)
    if info.isdir():
        return None
    if info.issym():
        return Member(0, bytes, posixpath.join(posixpath.dirname(info.name), info.linkname))
    if info.islnk():  # relative to the top of the archive
        return Member(0, bytes, info.linkname)

    def read() -> memoryview:
        if not info.isreg() or info.issparse():
            raise UnreadableFile(f"{where}: a {special(info)} in the archive, not a regular file")
        if info.offset_data + info.size > len(data):
            raise UnreadableFile(f"{where}: the archive ends before this member does; it was cut short")
        return data[info.offset_data : info.offset_data + info.size]

    return Member(info.size, read)


def special(info: tarfile.TarInfo) -> str:
    if info.issparse():
        return "sparse file"
    return "named pipe" if info.isfifo() else "device"
