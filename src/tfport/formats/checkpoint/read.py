"""Open a checkpoint of either version: its names, types and shapes, and its tensors on request.

`open_checkpoint(files, prefix)` recognizes the version by the content and returns
a `Checkpoint`: `bundle` reads V2 (an index and data shards), `v1` the older format.
Opening and listing read the index only; `read` maps the data and verifies it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Protocol

from tfport.errors import UnreadableFile
from tfport.formats.checkpoint.entry import CheckpointEntry, first_value
from tfport.formats.checkpoint.table import SortedTable
from tfport.formats.files import Files

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHARD = re.compile(r"-\d{5}-of-(\d{5})")
PART = re.compile(r"(\.index|\.data-\d{5}-of-\d{5})$")


class Checkpoint(Protocol):
    """The tensors of a checkpoint."""

    where: str
    """The checkpoint as messages call it."""

    def names(self) -> list[str]:
        """The names of its tensors, sorted."""
        ...

    def entry(self, name: str) -> CheckpointEntry:
        """The type and shape of a tensor."""
        ...

    def read(self, name: str) -> NDArray[Any]:
        """A tensor, as a read-only array."""
        ...

    def release_memory(self) -> None:
        """Release the memory of what was read; arrays of it stay valid."""
        ...

    def __contains__(self, name: object) -> bool: ...


def open_checkpoint(files: Files, prefix: str) -> Checkpoint:
    """The checkpoint with this prefix, or with this file."""
    names = table_files(files, prefix)
    tables = [SortedTable(files.map(name), files.label(name)) for name in names]
    # the first field of the first value is the number of shards in V2, a message in V1
    if (head := first_value(tables[0]))[:1] != b"\x0a":
        from tfport.formats.checkpoint.bundle import Bundle

        return Bundle(files, PART.sub("", names[0]), tables[0], head)
    from tfport.formats.checkpoint.v1 import CheckpointV1

    return CheckpointV1(tables, files.label(prefix))


def table_files(files: Files, prefix: str) -> list[str]:
    """The files with this prefix that are tables: a V2 index, or all files of a V1 checkpoint."""
    for name in (PART.sub("", prefix) + ".index", prefix):
        if files.has(name):
            return [name]
    folder, _, stem = prefix.rpartition("/")
    shards = [
        name for name in files.list(folder)[0] if name.startswith(stem) and SHARD.fullmatch(name, len(stem))
    ]
    if not shards:
        raise UnreadableFile(
            f"{files.label(prefix)}.index: missing; there is no checkpoint {stem} in this folder"
        )
    if int(shards[0][-5:]) != len(shards):
        raise UnreadableFile(
            f"{files.label(shards[0])}: expected {int(shards[0][-5:])} shards, found {len(shards)}"
        )
    return [f"{folder}/{name}" if folder else name for name in shards]
