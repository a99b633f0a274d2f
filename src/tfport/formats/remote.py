"""Object stores and other remote file systems, by fsspec: `s3://…`, `gs://…`, `az://…`, `https://…`.

What is stored there is listed with a stamp for each file, which changes when the file is written again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tfport.errors import UnreadableFile
from tfport.extras import optional_module

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
CHANGING = ("size", "ETag", "etag", "md5Hash", "LastModified", "mtime", "created")
"""Attributes of a file that change when it is written; each store has some of them."""


def is_address(path: str) -> bool:
    """Whether a path is a URL of an object store, such as `s3://…`."""
    return ADDRESS.match(path) is not None


def open_remote(address: str) -> tuple[AbstractFileSystem, str]:
    """The file system of an address, and the path in it."""
    core = optional_module("fsspec.core", f"{address}: an object store", "batch")
    try:
        files, path = core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UnreadableFile(f"{address}: {error}") from None
    files.invalidate_cache()  # other processes write there
    return files, path.rstrip("/")


def file_stamp(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """What changes when a listed file is written again."""
    return tuple(str(entry.get(key)) for key in CHANGING)
