"""The files that are packed behind a TensorFlow Lite file, such as labels: a zip archive."""

from __future__ import annotations

import io
from collections.abc import Mapping

END = b"PK\x05\x06"
LONGEST_COMMENT, END_SIZE = 2**16, 22
MOST_BYTES = 2**26
"""More is not read: labels and vocabularies are smaller."""
LONG_AGO = (1980, 1, 1, 0, 0, 0)


def packed_files(data: bytes | memoryview) -> dict[str, bytes]:
    """The packed files by name; none if there is no valid archive."""
    if END not in bytes(data[-(LONGEST_COMMENT + END_SIZE) :]):
        return {}
    import zipfile
    import zlib

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist() if not member.is_dir()]
            if sum(member.file_size for member in members) > MOST_BYTES:
                return {}
            return {member.filename: archive.read(member) for member in members}
    except (zipfile.BadZipFile, zlib.error, RuntimeError, NotImplementedError, OSError, ValueError):
        return {}


def with_packed(data: bytes, files: Mapping[str, bytes]) -> bytes:
    """A TensorFlow Lite file with these files behind it, not compressed, as readers require."""
    if not files:
        return data
    import zipfile

    out = io.BytesIO(data)
    with zipfile.ZipFile(out, "a") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, LONG_AGO), content)
    return out.getvalue()
