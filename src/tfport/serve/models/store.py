"""Where the versions of a model are: numbered folders of a base path, here or in an object store.

    store = open_store("s3://bucket/models/half_plus_two")
    store.versions()                              {1: "bucket/models/half_plus_two/00000001", …}
    store.fetch(path, folder)                     the version as a folder of this machine

A base path that is a model itself is its version 1. AllVersions of this may wait for a network and
belongs in a thread.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Protocol

from tfport.errors import UnreadableFile
from tfport.formats.files import reason
from tfport.serve.models.config import is_address

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

_NUMBER = re.compile(r"[0-9]+")
_LARGEST = 2**63 - 1
MODELS = ("saved_model.pb", "saved_model.pbtxt", "model.json")
"""The files that a folder with a model has one of."""
LOCAL = "file://"

Stamp = tuple[tuple[str, object], ...]
"""The files of a version, and what of each changes when it is written."""


class VersionStore(Protocol):
    """One base path."""

    def versions(self) -> dict[int, str]:
        """The versions that are there, with the path of each; an error where the base path is not."""
        ...

    def stamp(self, path: str) -> Stamp:
        """What is at a path; it differs when that was written again."""
        ...

    def fetch(self, path: str, folder: Path) -> Path:
        """A version on this machine: where it is, or a copy in `folder`, which is made."""
        ...


def open_store(base_path: str) -> VersionStore:
    """The store that a base path names."""
    if base_path.startswith(LOCAL):
        return LocalStore(base_path.removeprefix(LOCAL))
    return RemoteStore(base_path) if is_address(base_path) else LocalStore(base_path)


class LocalStore:
    """A folder of this machine."""

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
        if not numbered and any(name in kinds for name in MODELS):
            return {1: self.base_path}
        return {number: os.path.join(self.base_path, name) for number, name in numbered.items()}

    def stamp(self, path: str) -> Stamp:
        stamps: list[tuple[str, object]] = []
        for folder, _, names in os.walk(path):
            for name in names:
                try:
                    facts = os.stat(os.path.join(folder, name))
                except OSError:  # it went while we looked
                    continue
                stamps.append((os.path.join(folder, name), (facts.st_size, facts.st_mtime_ns)))
        return tuple(sorted(stamps, key=lambda stamp: stamp[0]))

    def fetch(self, path: str, folder: Path) -> Path:
        return Path(path)


class RemoteStore:
    """A folder of an object store, or of whatever fsspec knows."""

    def __init__(self, base_path: str) -> None:
        self.base_path = base_path

    def _open(self) -> tuple[AbstractFileSystem, str]:
        try:
            from fsspec.core import url_to_fs
        except ImportError:
            raise UnreadableFile(f"{self.base_path}: object stores need fsspec") from None
        try:
            files, path = url_to_fs(self.base_path)
        except (ImportError, ValueError) as error:
            raise UnreadableFile(f"{self.base_path}: {error}") from None
        files.invalidate_cache()  # others write there
        return files, path.rstrip("/")

    def versions(self) -> dict[int, str]:
        files, base = self._open()
        try:
            listed = {entry["name"].rstrip("/"): entry["type"] for entry in files.ls(base, detail=True)}
        except FileNotFoundError:
            raise UnreadableFile(f"{self.base_path}: there is nothing") from None
        except Exception as error:  # each store has errors of its own
            raise UnreadableFile(f"{self.base_path}: {error or type(error).__name__}") from None
        # some stores list the folder itself too
        kinds = {name.rpartition("/")[2]: kind for name, kind in listed.items() if name != base}
        numbered = _numbered(name for name, kind in kinds.items() if kind == "directory")
        if not numbered and any(name in kinds for name in MODELS):
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
        """Copy beside the store and rename, so that what is there is whole."""
        files, _ = self._open()
        sources = sorted(files.find(path))
        part = folder.with_name(f".{folder.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        targets = [part / _within(source, path) for source in sources]
        if not sources:
            raise FileNotFoundError(f"{path}: there is nothing")
        try:
            for parent in {target.parent for target in targets}:
                parent.mkdir(parents=True, exist_ok=True)
            files.get(sources, [str(target) for target in targets])
            part.rename(folder)
        except BaseException:
            shutil.rmtree(part, ignore_errors=True)
            raise
        return folder


def _numbered(names: Iterable[str]) -> dict[int, str]:
    """Names that are numbers; of two that are the same number TensorFlow Serving takes the last by name."""
    numbers = {int(name): name for name in sorted(names) if _NUMBER.fullmatch(name) and len(name) < 40}
    return {number: name for number, name in numbers.items() if number <= _LARGEST}


def _within(source: str, path: str) -> PurePosixPath:
    """A file's path below its version; a store may hold names that lead elsewhere."""
    inner = PurePosixPath(source.removeprefix(path).lstrip("/"))
    if not inner.parts or ".." in inner.parts:
        raise UnreadableFile(f"{source}: not a name for a file of a model")
    return inner
