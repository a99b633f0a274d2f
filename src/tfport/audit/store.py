"""The folders of a store that may have models, each with a stamp that changes when a file in it does.

A store is a folder, an address such as `s3://bucket/models`, a registry of MLflow (`models:/`), one model, or
`@FILE` with a store in each line. Nothing is opened here: names decide which folders are listed, and
`formats.recognize` looks at the content of their files later.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from tfport.errors import Error, UnreadableFile
from tfport.extras import optional_module
from tfport.formats.files import reason
from tfport.formats.recognize import may_have_models
from tfport.formats.remote import file_stamp, is_address, open_remote
from tfport.formats.saved_model.signature import BINARY, SPLIT, TEXT
from tfport.startup.dataclass import dataclass, field, replace

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

LIST, REGISTRY = "@", "models:/"
SAVED_MODEL_FILES = frozenset((BINARY, TEXT, SPLIT))
VERSION = re.compile(r"\d{1,19}")
SNAPSHOT = re.compile(r"models--([^/]+)/snapshots/([^/]+)")
"""A revision of a model in a cache of Hugging Face: `models--ORGANIZATION--NAME/snapshots/REVISION`."""
LISTERS = 16
"""Folders of an object store that are listed at the same time."""
MANY_FOLDERS = 32
"""A remote folder with fewer folders is listed level by level, so that the listing stays small."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file as a listing describes it."""

    size: int
    stamp: tuple[object, ...]
    owner: str = ""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder that may have models, or a file that may be one."""

    path: str
    files: dict[str, int] = field(default_factory=dict)
    """The sizes of its files by name; of a SavedModel also of those below it."""
    stamp: str = ""
    owner: str = ""
    name: str = ""
    """The name of its models, if a registry has one for them."""
    version: str = ""


def folders_of(store: str) -> Iterator[ModelFolder]:
    """The folders of a store that may have models."""
    if store.startswith(LIST):
        for line in _lines(store.removeprefix(LIST)):
            yield from folders_of(line)
    elif store.startswith(REGISTRY):
        for stored in registered_versions(store.removeprefix(REGISTRY), store):
            for folder in folders_of(stored.address):
                owner = stored.owner or folder.owner
                yield replace(folder, name=stored.name, version=stored.version, owner=owner)
    elif is_address(store):
        yield from _remote_folders(store)
    elif os.path.isdir(store):
        yield from _local_folders(store)
    else:
        yield _local_file(store)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError) as error:
        raise Error(f"{path}: {reason(error)}") from None
    stores = [line for line in lines if line and not line.startswith("#")]
    if nested := next((line for line in stores if line.startswith(LIST)), None):
        raise Error(f"{path}: `{nested}` is a list in a list")
    return stores


# Folders of the file system.


def _local_file(path: str) -> ModelFolder:
    try:
        status = os.stat(path)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    return _folder(path, {os.path.basename(path): _stored(status)})


def _local_folders(top: str) -> Iterator[ModelFolder]:
    seen: set[tuple[int, int]] = set()
    pending = [top]
    while pending:
        path = pending.pop()
        if not _is_new(path, seen):
            continue
        try:
            files, folders = _listed(path)
        except OSError:
            yield ModelFolder(path, stamp="unreadable")  # reading it reports the error
            continue
        if not SAVED_MODEL_FILES.isdisjoint(files):
            for folder in folders:
                files |= {f"{folder}/{name}": stored for name, stored in _below(os.path.join(path, folder))}
        else:
            pending += [os.path.join(path, name) for name in reversed(folders) if not name.startswith(".")]
        if may_have_models(list(files)):
            yield _folder(path, files)


def _is_new(path: str, seen: set[tuple[int, int]]) -> bool:
    """Whether a folder was not visited before; symbolic links can form cycles."""
    try:
        status = os.stat(path)
    except OSError:
        return True
    key = status.st_dev, status.st_ino
    is_new = key not in seen
    seen.add(key)
    return is_new


def _listed(path: str) -> tuple[dict[str, StoredFile], list[str]]:
    """The files of a folder, and the names of its folders."""
    files: dict[str, StoredFile] = {}
    folders: list[str] = []
    with os.scandir(path) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            try:
                if entry.is_dir():
                    folders.append(entry.name)
                else:
                    files[entry.name] = _stored(entry.stat())
            except OSError:  # a link to nothing
                files[entry.name] = StoredFile(0, ("missing",))
    return files, folders


def _below(path: str) -> Iterator[tuple[str, StoredFile]]:
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            inner = os.path.join(folder, name)
            try:
                yield os.path.relpath(inner, path), _stored(os.stat(inner))
            except OSError:
                yield os.path.relpath(inner, path), StoredFile(0, ("missing",))


def _stored(status: os.stat_result) -> StoredFile:
    return StoredFile(status.st_size, (status.st_size, status.st_mtime_ns), _user(status.st_uid))


@cache
def _user(number: int) -> str:
    """The name of a user; the number where it has none."""
    try:
        import pwd  # not on Windows

        return pwd.getpwuid(number).pw_name
    except (ImportError, KeyError):
        return str(number)


# Folders of an object store.


def _remote_folders(address: str) -> Iterator[ModelFolder]:
    """List the tree below an address: a few folders at a time, as a store can have millions of files."""
    files, top = open_remote(address)
    scheme = address.partition("://")[0]
    with ThreadPoolExecutor(LISTERS) as listers:
        pending = [top]
        while pending:
            path = pending.pop()
            here, folders = _remote_listing(files, path, address)
            if not folders or not SAVED_MODEL_FILES.isdisjoint(here):
                yield from _grouped(scheme, path, _found(files, path) if folders else here)
                continue
            if len(folders) < MANY_FOLDERS:
                pending += reversed(folders)
            else:
                for folder, below in _in_order(listers, files, folders):
                    yield from _grouped(scheme, folder, below)
            if may_have_models(list(here)):
                yield _folder(f"{scheme}://{path}", here)


def _remote_listing(
    files: AbstractFileSystem, path: str, address: str
) -> tuple[dict[str, StoredFile], list[str]]:
    try:
        entries = files.ls(path, detail=True)
    except FileNotFoundError:
        raise UnreadableFile(f"{address}: no such folder") from None
    except Exception as error:  # each store raises its own errors
        raise UnreadableFile(f"{address}: {error or type(error).__name__}") from None
    finally:
        files.invalidate_cache()  # which has every listing
    listed = {entry["name"].rstrip("/"): entry for entry in entries}
    if set(listed) == {path}:  # a file
        return {posixpath.basename(path): _remote_file(listed[path])}, []
    folders = [
        name for name, entry in sorted(listed.items()) if entry["type"] == "directory" and name != path
    ]
    return {
        posixpath.basename(name): _remote_file(entry)
        for name, entry in sorted(listed.items())
        if entry["type"] != "directory" and name != path
    }, folders


def _in_order(
    listers: ThreadPoolExecutor, files: AbstractFileSystem, folders: Iterable[str]
) -> Iterator[tuple[str, dict[str, StoredFile]]]:
    """What is below each folder, in order; listed ahead of time, but not far."""
    left = iter(folders)
    ahead = [(folder, listers.submit(_found, files, folder)) for folder in islice(left, 2 * LISTERS)]
    while ahead:
        folder, listing = ahead.pop(0)
        ahead += [(other, listers.submit(_found, files, other)) for other in islice(left, 1)]
        yield folder, listing.result()


def _found(files: AbstractFileSystem, folder: str) -> dict[str, StoredFile]:
    try:
        entries: Mapping[str, Any] = files.find(folder, detail=True)
    except Exception as error:  # each store raises its own errors
        raise UnreadableFile(f"{folder}: {error or type(error).__name__}") from None
    return {
        name.removeprefix(folder).lstrip("/"): _remote_file(entry) for name, entry in sorted(entries.items())
    }


def _remote_file(entry: Mapping[str, Any]) -> StoredFile:
    owner = entry.get("Owner") or entry.get("owner") or ""
    name = owner.get("DisplayName", "") if isinstance(owner, Mapping) else str(owner)
    return StoredFile(int(entry.get("size") or 0), file_stamp(entry), name)


def _grouped(scheme: str, top: str, below: Mapping[str, StoredFile]) -> Iterator[ModelFolder]:
    """The folders in the listing of a tree; everything below a SavedModel belongs to it."""
    folders: dict[str, dict[str, StoredFile]] = {}
    for name, stored in below.items():
        folder, base = posixpath.split(name)
        folders.setdefault(folder, {})[base] = stored
    saved = {folder for folder, files in folders.items() if not SAVED_MODEL_FILES.isdisjoint(files)}
    for folder in [folder for folder in folders if folder not in saved]:
        if (owner := _inside(folder, saved)) is not None:
            inner = folder.removeprefix(owner).lstrip("/")
            folders[owner] |= {f"{inner}/{name}": stored for name, stored in folders.pop(folder).items()}
    for folder, files in folders.items():
        if may_have_models(list(files)) and not any(
            part.startswith(".") for part in folder.split("/") if part
        ):
            yield _folder(f"{scheme}://{posixpath.join(top, folder)}".rstrip("/"), files)


def _inside(folder: str, saved: set[str]) -> str | None:
    while folder:
        folder = posixpath.dirname(folder)
        if folder in saved:
            return folder
    return None


# What a listing says about a folder.


def _folder(path: str, files: Mapping[str, StoredFile]) -> ModelFolder:
    digest = hashlib.sha256(
        repr([(name, stored.stamp) for name, stored in sorted(files.items())]).encode(
            "utf-8", "backslashreplace"
        )
    )
    owner = next((stored.owner for stored in files.values() if stored.owner), "")
    sizes = {name: stored.size for name, stored in files.items()}
    return ModelFolder(path, sizes, digest.hexdigest(), owner)


def name_and_version(path: str, folder: ModelFolder) -> tuple[str, str]:
    """The name that the versions of a model share, and its version; empty if it has none.

    Versions are numbered folders, as TensorFlow Serving has them, revisions of Hugging Face, or what a
    registry says.
    """
    if folder.name:
        return folder.name, folder.version
    inside = path.removeprefix(folder.path)
    if snapshot := SNAPSHOT.search(folder.path):
        rest = folder.path[snapshot.end() :]
        return snapshot[1].replace("--", "/") + rest + inside, snapshot[2]
    base, _, last = folder.path.rstrip("/").rpartition("/")
    if base and VERSION.fullmatch(last):
        return base + inside, last
    return path, ""


# The models of an MLflow registry: all of them, those of a name, one version, or the version of an alias. A
# version is the folder that MLflow stored it in, local or remote; the model is found in it by content.

PAGE = 1000
FILE = "file://"


@dataclass(frozen=True, slots=True)
class RegisteredVersion:
    """A version of a registered model."""

    name: str
    version: str
    owner: str
    address: str
    """Where it is stored."""


def registered_versions(wanted: str, store: str) -> Iterator[RegisteredVersion]:
    """The versions that `NAME`, `NAME/VERSION`, `NAME@ALIAS` or nothing means; messages name `store`."""
    MlflowClient = optional_module("mlflow", f"{store}: an MLflow registry").MlflowClient
    from mlflow.exceptions import MlflowException

    client = MlflowClient()
    try:
        for v in _versions(client, wanted.strip("/")):
            address = client.get_model_version_download_uri(v.name, v.version).removeprefix(FILE)
            yield RegisteredVersion(v.name, str(v.version), v.user_id or "", address)
    except MlflowException as error:
        raise Error(f"{store}: {error}") from None


def _versions(client: Any, wanted: str) -> Iterator[Any]:
    name, _, version = wanted.partition("/")
    if not version and "@" in name:
        yield client.get_model_version_by_alias(*name.rsplit("@", 1))
    elif version:
        yield client.get_model_version(name, version)
    else:
        condition, token = (f"name = '{name}'" if name else None), None
        while True:
            page = client.search_model_versions(condition, max_results=PAGE, page_token=token)
            yield from page
            token = page.token
            if not token:
                return
