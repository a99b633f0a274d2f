"""The files of a remote folder at a local path, without their weights.

Files of weights are holes of their size, which take no space; of a large file with weights inside, only the
ranges that `graph_ranges` names are fetched. What is read of a model is thus the same as of a local one.
"""

from __future__ import annotations

import mmap
import os
import posixpath
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tfport.audit.graph_ranges import touch_graph
from tfport.audit.store import ModelFolder
from tfport.errors import UnreadableFile
from tfport.formats.remote import is_address, open_remote
from tfport.formats.tfjs.signature import SHARD_NAME

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

WHOLE = 1 << 20
"""Smaller files are fetched whole."""
BLOCK = 1 << 16
CHECKPOINT_DATA = re.compile(r".*\.data-\d{5}-of-\d{5}")
fetched_bytes = 0
"""How many bytes this process has fetched."""


@contextmanager
def staged(folder: ModelFolder) -> Iterator[str]:
    """The local path of a folder; what is remote is copied to a folder that is deleted in the end."""
    if not is_address(folder.path):
        yield folder.path
        return
    files, remote = open_remote(folder.path)
    with tempfile.TemporaryDirectory(prefix="tfport-audit-") as scratch:
        is_file = list(folder.files) == [posixpath.basename(remote)]
        for name, size in folder.files.items():
            if ".." in name.split("/") or name.startswith("/"):
                raise UnreadableFile(f"{folder.path}: invalid name `{name}` for a file of a model")
            source = remote if is_file else f"{remote}/{name}"
            _stage(files, source, os.path.join(scratch, name), size)
        yield os.path.join(scratch, posixpath.basename(remote)) if is_file else scratch


def _stage(files: AbstractFileSystem, source: str, path: str, size: int) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    name = posixpath.basename(source)
    fetch = _fetcher(files, source)
    with open(path, "w+b") as local:
        if CHECKPOINT_DATA.fullmatch(name) or SHARD_NAME.fullmatch(name):
            local.truncate(size)
        elif size <= WHOLE:
            local.write(fetch(0, size))
        else:
            local.truncate(size)
            touch_graph(RangedBytes(mmap.mmap(local.fileno(), size), fetch), name)


def _fetcher(files: AbstractFileSystem, source: str) -> Callable[[int, int], bytes]:
    def fetch(start: int, stop: int) -> bytes:
        global fetched_bytes
        if start == stop:
            return b""
        try:
            data: bytes = files.cat_file(source, start=start, end=stop)
        except Exception as error:  # each store raises its own errors
            raise UnreadableFile(f"{source}: {error or type(error).__name__}") from None
        fetched_bytes += len(data)
        return data

    return fetch


class RangedBytes:
    """The bytes of a remote file; those that are asked for are fetched, in blocks."""

    def __init__(self, memory: mmap.mmap, fetch: Callable[[int, int], bytes]) -> None:
        self.memory, self.fetch = memory, fetch
        self.present = bytearray(-(-len(memory) // BLOCK))

    def __len__(self) -> int:
        return len(self.memory)

    def __getitem__(self, part: slice) -> memoryview:
        start, stop, _ = part.indices(len(self))
        self._fetch(start, stop)
        return memoryview(self.memory)[start:stop]

    def _fetch(self, start: int, stop: int) -> None:
        """Fetch the missing blocks of a range, adjacent ones in one request."""
        block, last = start // BLOCK, -(-stop // BLOCK)
        while block < last:
            end = block
            while end < last and not self.present[end]:
                end += 1
            if end > block:
                at, until = block * BLOCK, min(end * BLOCK, len(self))
                data = self.fetch(at, until)
                self.memory[at : at + len(data)] = data
                self.present[block:end] = b"\1" * (end - block)
            block = max(end, block + 1)
