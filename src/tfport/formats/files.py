"""The files of a model: a read-only tree in a folder, an archive or memory.

Readers only use the interface `Files`; `archive` implements it for archives.
Names are relative, with forward slashes. How the bytes are read is decided by a `FileReader`.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable
from typing import Protocol

from tfport.errors import UnreadableFile
from tfport.formats.file_reader import FileReader


class Files(Protocol):
    """A tree of files to read from."""

    where: str
    """The tree as messages call it: `export/1`, `model.zip`."""
    reader: FileReader
    """What reads the files of the system that the tree is in."""

    def list(self, folder: str = "") -> tuple[list[str], list[str]]:
        """The names of the files and of the folders in `folder`, both sorted."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a file with this name."""
        ...

    def size(self, name: str) -> int:
        """The size of a file in bytes."""
        ...

    def map(self, name: str) -> memoryview:
        """The bytes of a file, loaded into memory on access."""
        ...

    def hold(self, names: Iterable[str]) -> None:
        """Keep files that later calls read, if the reader keeps files; missing ones are left out."""
        ...

    def watch(self, names: Iterable[str]) -> None:
        """Note the state of files, so that reading them later is an error if they were changed."""
        ...

    def under(self, folder: str) -> Files:
        """The tree below one of its folders."""
        ...

    def label(self, name: str) -> str:
        """The file as messages call it."""
        ...


class Folder:
    """A folder of the file system."""

    def __init__(self, path: str | os.PathLike[str], reader: FileReader | None = None) -> None:
        self.where = os.fspath(path)
        self.path = self.where or os.curdir
        self.reader = reader or FileReader()

    def list(self, folder: str = "") -> tuple[list[str], list[str]]:
        files: list[str] = []
        folders: list[str] = []
        try:
            for entry in os.scandir(self._path_of(folder)):
                (folders if entry.is_dir() else files).append(entry.name)
        except OSError as error:
            raise UnreadableFile(f"{self._path_of(folder)}: {reason(error)}") from None
        return sorted(files), sorted(folders)

    def has(self, name: str) -> bool:
        return self.reader.has(self._path_of(name))

    def size(self, name: str) -> int:
        try:
            return self.reader.size(self._path_of(name))
        except OSError as error:
            raise UnreadableFile(f"{self.label(name)}: {reason(error)}") from None

    def map(self, name: str) -> memoryview:
        try:
            return self.reader.read(self._path_of(name))
        except (OSError, ValueError) as error:
            raise UnreadableFile(f"{self.label(name)}: {reason(error)}") from None

    def hold(self, names: Iterable[str]) -> None:
        for name in filter(self.has, names):
            self.reader.hold(self._path_of(name))

    def watch(self, names: Iterable[str]) -> None:
        for name in names:
            self.reader.watch(self._path_of(name))

    def _path_of(self, name: str) -> str:
        return os.path.join(self.path, name) if name else self.path

    def under(self, folder: str) -> Folder:
        return Folder(os.path.join(self.where, folder), self.reader) if folder else self

    def label(self, name: str) -> str:
        return os.path.join(self.where, name)


class MemoryFiles:
    """Files in memory: a model that a caller passed as bytes. Messages call each of them `where`."""

    def __init__(self, where: str, contents: dict[str, memoryview]) -> None:
        self.where = where
        self.contents = contents
        self.reader = FileReader()

    def list(self, folder: str = "") -> tuple[list[str], list[str]]:
        return ([] if folder else sorted(self.contents)), []

    def has(self, name: str) -> bool:
        return name in self.contents

    def size(self, name: str) -> int:
        return len(self.map(name))

    def map(self, name: str) -> memoryview:
        if name not in self.contents:
            raise UnreadableFile(f"{self.where}: there is no {name} next to it")
        return self.contents[name]

    def hold(self, names: Iterable[str]) -> None:
        pass

    def watch(self, names: Iterable[str]) -> None:
        pass

    def under(self, folder: str) -> MemoryFiles:
        return MemoryFiles(self.where, {}) if folder else self

    def label(self, name: str) -> str:
        return self.where


def release_mapped(view: memoryview) -> None:
    """Release the memory of what was read of a mapped file; it is read from the file again when needed."""
    if isinstance(view.obj, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):  # not on Windows
        view.obj.madvise(mmap.MADV_DONTNEED)


def reason(error: OSError | ValueError) -> str:
    """The message of the operating system, for the end of a sentence."""
    message = error.strerror if isinstance(error, OSError) else None
    return (message or str(error)).lower()
