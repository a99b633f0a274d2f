"""Which files a job reads: a path, a pattern, a folder, an address in an object store; and what they contain.

files = find_data(["data/*.tfrecord", "s3://bucket/day=1/"])
with files[0].open() as stream: …

The name of a file says what it contains, also that of a shard, such as `a.tfrecord-00000-of-00012`. Where no
name does, the first bytes decide: TFX writes `data_tfrecord-00000-of-00012.gz`.
"""

from __future__ import annotations

import glob
import gzip
import os
import re
import struct
import zlib
from collections.abc import Sequence
from typing import IO, Any, cast

from tfport.errors import Error, UnreadableFile
from tfport.formats.encoding.crc32c import checksum, masked
from tfport.formats.files import reason
from tfport.formats.remote import is_address, open_remote
from tfport.startup.dataclass import dataclass, replace

PARQUET, TFRECORD, CSV, JSON_LINES, IMAGE = "parquet", "tfrecord", "csv", "jsonl", "image"
ENDINGS = {
    ".parquet": PARQUET, ".pq": PARQUET, ".tfrecord": TFRECORD, ".tfrecords": TFRECORD, ".csv": CSV,
    ".jsonl": JSON_LINES, ".ndjson": JSON_LINES, ".jpg": IMAGE, ".jpeg": IMAGE, ".png": IMAGE, ".gif": IMAGE,
    ".bmp": IMAGE,
}  # fmt: skip
GZIP = ".gz"
SHARD = re.compile(r"-\d{5,}-of-\d{5,}(?=\.|$)")
FIRST_BYTES = {
    b"PAR1": PARQUET, b"\xff\xd8\xff": IMAGE, b"\x89PNG": IMAGE, b"GIF8": IMAGE, b"BM": IMAGE,
}  # fmt: skip
RECORD_HEAD = struct.Struct("<8sI")
"""The length of a record and its checksum, with which a TFRecord file begins."""
_STAMPS = ("ETag", "etag", "md5Hash", "LastModified", "mtime", "created")


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file of a table."""

    path: str
    format: str
    size: int
    stamp: str
    """Changes when the file is written again."""

    def open(self) -> IO[bytes]:
        """The content, decompressed; a plain file can be searched."""
        try:
            if is_address(self.path):
                files, path = open_remote(self.path)
                stream = cast("IO[bytes]", files.open(path, "rb"))
            else:
                stream = open(self.path, "rb")  # noqa: SIM115  the caller closes it
        except Exception as error:  # each store raises its own errors
            raise UnreadableFile(f"{self.path}: {_why(error)}") from None
        return cast("IO[bytes]", _Unpacked(fileobj=stream)) if _stem(self.path).endswith(GZIP) else stream


class _Unpacked(gzip.GzipFile):
    """A compressed stream that closes the file, too."""

    def close(self) -> None:
        packed: Any = self.fileobj
        super().close()
        if packed is not None:
            packed.close()


def find_data(paths: Sequence[str]) -> list[DataFile]:
    """The files of a table, in a fixed order; Error if there is none, or if they have different formats."""
    files = [file for path in paths for file in _files(path)]
    formats = sorted({file.format for file in files})
    if len(formats) > 1:
        raise Error(f"{', '.join(paths)}: files of different formats: {', '.join(formats)}")
    return files


def _files(path: str) -> list[DataFile]:
    entries = _remote(path) if is_address(path) else _local(path)
    known = [file for file in entries if file.format]
    known = known or [file for entry in entries if (file := _by_content(entry)).format]
    if known:
        return known
    name = entries[0].path if entries else path
    endings = ", ".join(ENDINGS)
    why = "not a table that tfport reads" if entries else "no such file or folder"
    raise UnreadableFile(f"{name}: {why}; expected {endings}, the first ones also with {GZIP}")


def _local(path: str) -> list[DataFile]:
    if os.path.isdir(path):
        names = sorted(os.path.join(f, name) for f, _, names in os.walk(path) for name in names)
    elif os.path.lexists(path):
        names = [path]
    else:
        names = sorted(glob.glob(path, recursive=True))
    files = []
    for name in names:
        try:
            status = os.stat(name)
        except OSError as error:
            raise UnreadableFile(f"{name}: {reason(error)}") from None
        if not os.path.isdir(name) and not _is_hidden(name, path):
            files.append(DataFile(name, format_of(name), status.st_size, str(status.st_mtime_ns)))
    return files


def _remote(address: str) -> list[DataFile]:
    system, path = open_remote(address)
    scheme = address.partition("://")[0]
    try:
        if any(sign in path for sign in "*?["):
            entries = system.glob(path, detail=True)
        else:
            entries = system.find(path, detail=True)
    except Exception as error:  # each store raises its own errors
        raise UnreadableFile(f"{address}: {_why(error)}") from None
    return [
        DataFile(
            f"{scheme}://{name.lstrip('/')}", format_of(name), int(entry.get("size") or 0), _stamp(entry)
        )
        for name, entry in sorted(entries.items())
        if entry.get("type", "file") == "file" and not _is_hidden(name, path)
    ]


def _stamp(entry: dict[str, Any]) -> str:
    return next((str(entry[key]) for key in _STAMPS if entry.get(key)), "")


def _is_hidden(name: str, root: str) -> bool:
    """Whether a file of a folder is not data: `_SUCCESS`, `.crc` and the like."""
    return name != root and os.path.basename(name).startswith(("_", "."))


def format_of(name: str) -> str:
    """The format by the end of a name; empty if it is unknown."""
    return ENDINGS.get(os.path.splitext(_stem(name).removesuffix(GZIP))[1], "")


def _stem(name: str) -> str:
    """A name in lower case without the number of a shard."""
    return SHARD.sub("", name.lower())


def _by_content(file: DataFile) -> DataFile:
    """The file with the format that its first bytes have."""
    try:
        with file.open() as stream:
            head = stream.read(RECORD_HEAD.size)
    except (UnreadableFile, OSError, EOFError, zlib.error):
        return file
    kind = next((kind for first, kind in FIRST_BYTES.items() if head.startswith(first)), "")
    if len(head) == RECORD_HEAD.size:
        length, stored = RECORD_HEAD.unpack(head)
        kind = TFRECORD if masked(checksum(length)) == stored else kind
    return replace(file, format=kind)


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    return reason(error) if isinstance(error, OSError) else str(error) or type(error).__name__
