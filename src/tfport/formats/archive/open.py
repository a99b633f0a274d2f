"""Recognize a .zip or a .tar, compressed or not, by its content."""

from __future__ import annotations

from io import BytesIO
from typing import IO

from tfport.formats.archive.archive import COMPRESSED, Archive, Entries
from tfport.formats.file_reader import FileReader

TAR_BLOCK = 512
ZIP = (b"PK\x03\x04", b"PK\x05\x06")


def open_archive(path: str, head: bytes, reader: FileReader | None = None) -> Archive | None:
    """The archive in a file, or None; `head` is at least its first `TAR_BLOCK` bytes."""
    reader = reader or FileReader()
    # imported here, as few models come in archives
    if head.startswith(ZIP):
        from tfport.formats.archive.zip import read_zip

        return Archive(path, read_zip(path, reader), reader)
    if is_tar(head) or (head.startswith(COMPRESSED) and packs_tar(path, head)):
        from tfport.formats.archive.tar import read_tar

        return Archive(path, read_tar(path, head, reader), reader)
    return None


def archive_entries(data: memoryview, where: str) -> Entries | None:
    """The members of an archive with these bytes, whatever their names; None if it is not an archive."""
    head = bytes(data[:TAR_BLOCK])
    if head.startswith(ZIP):
        from tfport.formats.archive.zip import zip_entries

        return zip_entries(data, where)
    if is_tar(head) or (head.startswith(COMPRESSED) and packs_tar(BytesIO(data), head)):
        from tfport.formats.archive.tar import tar_entries

        return tar_entries(data, head, where)
    return None


def packs_tar(path: str | IO[bytes], head: bytes) -> bool:
    from tfport.formats.archive.unpack import unpacked_head

    return is_tar(unpacked_head(path, head, TAR_BLOCK))


def is_tar(head: bytes) -> bool:
    """Whether there is a tar header. Old ones have no magic number, but all have a checksum."""
    block = head[:TAR_BLOCK]
    if len(block) < TAR_BLOCK or not block[0]:
        return False
    try:
        stored = int(block[148:156].rstrip(b"\x00 ") or b"0", 8)
    except ValueError:
        return False
    return stored == sum(block[:148]) + 8 * ord(" ") + sum(block[156:])
