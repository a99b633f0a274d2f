"""Where the versions of a model are: numbered folders of a base path, local or in an object store.

    store = open_store("s3://bucket/models/half_plus_two")
    store.versions()                              {1: "bucket/models/half_plus_two/00000001", …}
    store.fetch(path, folder)                     the version as a local folder

A base path that is itself a model is version 1. Every method may wait for the network and should be
called in a thread.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from tfport.errors import UnreadableFile
from tfport.formats.files import reason
from tfport.formats.keras.signature import EXTENSIONS
from tfport.serve.models.config import is_address

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_NUMBER = re.compile(r"[0-9]+")
_LARGEST = 2**63 - 1
MODELS = ("saved_model.pb", "saved_model.pbtxt", "model.json")
"""A model's folder contains one of these files, or a Keras file."""
LOCAL = "file://"

Stamp = tuple[tuple[str, object], ...]
"""The files of a version, each with attributes that change when it is written."""


def names_a_model(names: Iterable[str]) -> bool:
    """Whether one of the names in a folder is that of a model, perhaps a broken one."""
    return any(name in MODELS or name.endswith(EXTENSIONS) for name in names)


class VersionStore(Protocol):
    """The versions under one base path."""

    is_remote: bool
    """Whether a version must be copied to be loaded."""

    def versions(self) -> dict[int, str]:
        """Return the existing versions with their paths; raise if the base path does not exist."""
        ...

    def stamp(self, path: str) -> Stamp:
        """Return a value that changes when a version is written again."""
        ...

    def fetch(self, path: str, folder: Path) -> Path:
        """Return the local path of a version: where it is, or a new copy in `folder`."""
        ...


def open_store(base_path: str) -> VersionStore:
    """Open the store of a base path."""
    if base_path.startswith(LOCAL):
        return LocalStore(base_path.removeprefix(LOCAL))
    return RemoteStore(base_path) if is_address(base_path) else LocalStore(base_path)


def open_address(address: str) -> tuple[AbstractFileSystem, str]:
    """The file system of a URL such as `s3://…`, and the path within it."""
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UnreadableFile(f"{address}: object stores need fsspec: pip install fsspec") from None
    try:
        files, path = url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise UnreadableFile(f"{address}: {error}") from None
    files.invalidate_cache()  # other processes write there
    return files, path


class LocalStore:
    """A local folder."""

    is_remote = False

    def __init__(self, base_path: str) -> None:
        self.base_path = base_path

    def versions(self) -> dict[int, str]:
        if os.path.isfile(self.base_path):
            return {1: self.base_path}
        try:
            with os.scandir(self.base_path) as entries:
                kinds = {entry.name: entry.is_dir() for entry in entries}
        except OSError as error:
            raise UnreadableFile(f"{self.base_path}: {reason(error)}") from None
        numbered = _numbered(name for name, folder in kinds.items() if folder)
        if not numbered and names_a_model(kinds):
            return {1: self.base_path}
        return {number: os.path.join(self.base_path, name) for number, name in numbered.items()}

    def stamp(self, path: str) -> Stamp:
        stamps: list[tuple[str, object]] = []
        for file in _files(path):
            try:
                status = os.stat(file)
            except OSError:  # deleted in the meantime
                continue
            stamps.append((file, (status.st_size, status.st_mtime_ns)))
        return tuple(sorted(stamps, key=lambda stamp: stamp[0]))

    def fetch(self, path: str, folder: Path) -> Path:
        return Path(path)


class RemoteStore:
    """A folder in an object store, or in any file system that fsspec supports."""

    is_remote = True

    def __init__(self, base_path: str) -> None:
        self.base_path = base_path

    def _open(self) -> tuple[AbstractFileSystem, str]:
        files, path = open_address(self.base_path)
        return files, path.rstrip("/")

    def versions(self) -> dict[int, str]:
        files, base = self._open()
        try:
            listed = {entry["name"].rstrip("/"): entry["type"] for entry in files.ls(base, detail=True)}
        except FileNotFoundError:
            raise UnreadableFile(f"{self.base_path}: no such folder") from None
        except Exception as error:  # each store raises its own errors
            raise UnreadableFile(f"{self.base_path}: {error or type(error).__name__}") from None
        # some stores also list the folder itself
        kinds = {name.rpartition("/")[2]: kind for name, kind in listed.items() if name != base}
        numbered = _numbered(name for name, kind in kinds.items() if kind == "directory")
        if not numbered and names_a_model(kinds):
            return {1: base}
        return {number: f"{base}/{name}" for number, name in numbered.items()}

    def stamp(self, path: str) -> Stamp:
        files, _ = self._open()
        entries = files.find(path, detail=True)
        changing = ("size", "ETag", "etag", "md5Hash", "LastModified", "mtime", "created")
        return tuple(
            (name, tuple(str(entries[name].get(key)) for key in changing)) for name in sorted(entries)
        )

    def fetch(self, path: str, folder: Path) -> Path:
        """Copy to a temporary folder and rename it, so that a copy is always complete."""
        files, _ = self._open()
        sources = sorted(files.find(path))
        part = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        targets = [part / _within(source, path) for source in sources]
        if not sources:
            raise FileNotFoundError(f"{path}: no such file or folder")
        try:
            for parent in {target.parent for target in targets}:
                parent.mkdir(parents=True, exist_ok=True)
            files.get(sources, [str(target) for target in targets])
            part.rename(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return folder


def _files(path: str) -> Iterator[str]:
    """The files of a version; a version may be a file itself."""
    if os.path.isfile(path):
        yield path
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names)


def _numbered(names: Iterable[str]) -> dict[int, str]:
    """Return the names that are numbers; of equal numbers TensorFlow Serving takes the last name."""
    numbers = {int(name): name for name in sorted(names) if _NUMBER.fullmatch(name) and len(name) < 40}
    return {number: name for number, name in numbers.items() if number <= _LARGEST}


def _within(source: str, path: str) -> PurePosixPath:
    """Return a file's path relative to its version; reject names that lead out of it."""
    inner = PurePosixPath(source.removeprefix(path).lstrip("/"))
    if not inner.parts or ".." in inner.parts:
        raise UnreadableFile(f"{source}: invalid name for a file of a model")
    return inner
