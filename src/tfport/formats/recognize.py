"""Find the model in what a person gives: a path, bytes, or an open file.

`find_model(source)` gives a `Found`: the kind, the tree of files and the file in
it to begin with. A path may lead to a file, a folder, an archive, or on into an
archive: `models.zip/export/1`. What is no TensorFlow model is named for what it
is. What one file is: `kinds`; which file of a folder: `search`.
"""

from __future__ import annotations

import os
import re
import stat
from typing import IO, TypeAlias

from tfport.errors import Error, NotAModel, UnreadableFile
from tfport.formats import foreign
from tfport.formats.archive.archive import DEEPEST_NAME, Archive, open_archive
from tfport.formats.files import Files, Folder, reason
from tfport.formats.foreign import Foreign
from tfport.formats.kinds import HEAD, Kind, identify
from tfport.formats.memory import Memory
from tfport.formats.search import (
    GRAPHS,
    Found,
    checkpoint_at,
    look,
    model_at,
    models_below,
    models_in,
    refusal,
)

__all__ = ["Found", "Kind", "find_model"]

Source: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]"

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
ARCHIVE_NAME = re.compile(r".*\.(zip|whl|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))")
LEVELS = 3
MOST_NAMED = 8
MOST_COMPARED = 5000


def find_model(source: Source) -> Found:
    """The model that is meant; an error that says what is there instead, if it is none."""
    if isinstance(source, bytes | bytearray | memoryview):
        return in_memory(memoryview(bytes(source)), "the bytes given")
    if isinstance(source, str | os.PathLike):
        return at_path(os.fspath(source))
    if hasattr(source, "read"):
        return in_open_file(source)
    raise Error(f"expected the path of a model, its bytes or an open file, found {type(source).__name__}")


def in_memory(data: memoryview, where: str) -> Found:
    kind = identify(data, where)
    if isinstance(kind, Foreign):
        raise refusal(kind, where)
    if kind not in GRAPHS:
        raise UnreadableFile(f"{where}: one file of a {kind.value}, which has others; give its path")
    name = {Kind.SAVED_MODEL: "saved_model.pb", Kind.META_GRAPH: "model.meta"}.get(kind, "graph.pb")
    return Found(kind, Memory(where, {name: data}), name, where)


def in_open_file(file: IO[bytes]) -> Found:
    """By its path, if that still leads to this file: there may be others beside it."""
    name = getattr(file, "name", None)
    try:
        if isinstance(name, str) and os.path.samestat(os.stat(name), os.fstat(file.fileno())):
            return at_path(name)
    except (OSError, ValueError, AttributeError):
        pass
    where = name if isinstance(name, str) else "the open file"
    try:
        data = file.read()
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{where}: {reason(error)}") from None
    if not isinstance(data, bytes):
        raise Error(f"{where}: opened as text; open it with mode 'rb'")
    return in_memory(memoryview(data), where)


def at_path(path: str) -> Found:
    if ADDRESS.match(path):
        raise Error(f"{path}: an address, not a path; download it first")
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        return at_missing(path, error)
    if stat.S_ISDIR(mode):
        return in_folder(Folder(path))
    if not stat.S_ISREG(mode):
        raise UnreadableFile(f"{path}: neither a file nor a folder, but a device, pipe or socket")
    if archive := archive_at(path):
        return in_archive(archive)
    folder, name = os.path.split(path)
    return model_at(Folder(folder), name)


def archive_at(path: str) -> Archive | None:
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    return open_archive(path, head)


def in_folder(files: Files) -> Found:
    if found := models_in(files):
        return only(found, files)
    below, _ = models_below(files, LEVELS)
    if below:
        raise UnreadableFile(
            f"{files.where}: no model in this folder itself, but below it: {named(below, files)}"
        )
    raise nothing_in(files)


def in_archive(files: Archive) -> Found:
    """The model at the top of an archive, or else the only one anywhere in it."""
    if found := models_in(files):
        return only(found, files)
    below, errors = models_below(files, DEEPEST_NAME)
    if below:
        return only(below, files)
    everything = [n.removeprefix(f"{files.root}/") for n in files.tree.members]
    if other := foreign.by_members(everything, foreign.ZIP_MEMBERS):
        raise refusal(other, files.where)
    if errors:
        raise errors[0]
    raise nothing_in(files)


def only(found: list[Found], files: Files) -> Found:
    if len(found) > 1:
        raise UnreadableFile(f"{files.where}: {len(found)} models: {named(found, files)}")
    return found[0]


def named(found: list[Found], files: Files) -> str:
    """The models as seen from here, and how to give one of them."""
    names = [os.path.relpath(f.where, files.where) for f in found[:MOST_NAMED]]
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f"{', '.join(names)}{more}; give the path of one, such as {found[0].where}"


def nothing_in(files: Files) -> UnreadableFile:
    """What to say of a folder without a model: what it is, or what its files are."""
    names, folders = files.list()
    if not names and not folders:
        return UnreadableFile(f"{files.where}: an empty folder")
    for name in filter(files.has, names[:MOST_NAMED]):
        what = look(files, name)
        if isinstance(what, Foreign) and (what.broken or len(names + folders) == 1):
            return refusal(what, files.label(name))
    if other := foreign.by_members(names, foreign.FOLDER_MEMBERS):
        return refusal(other, files.where)
    if archives := [name for name in names if ARCHIVE_NAME.fullmatch(name)]:
        again = "unpack it first" if isinstance(files, Archive) else "give its path"
        return NotAModel(f"{files.where}: no model but an archive, {archives[0]}; {again}")
    shown = [*(f"{f}/" for f in folders), *names]
    more = ", …" if len(shown) > MOST_NAMED else ""
    return NotAModel(f"{files.where}: no TensorFlow model; it holds {', '.join(shown[:MOST_NAMED])}{more}")


def at_missing(path: str, error: OSError | ValueError) -> Found:
    """A path that is no file: the prefix of a checkpoint, a way into an archive, or a mistake."""
    folder, name = os.path.split(path.rstrip("/"))
    if os.path.islink(path):
        look(Folder(folder), name)
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise UnreadableFile(f"{path}: {reason(error)}")
    if os.path.isdir(folder or "."):
        if found := by_prefix(Folder(folder), name):
            return found
        files, folders = Folder(folder).list()
        raise UnreadableFile(f"{path}: no such file or folder{near(name, files + folders)}")
    return beyond_file(path)


def by_prefix(files: Files, name: str) -> Found | None:
    """A checkpoint by its prefix; a MetaGraph too, where only that is left of one."""
    found = checkpoint_at(files, name)
    return found or (model_at(files, name + ".meta") if files.has(name + ".meta") else None)


def beyond_file(path: str) -> Found:
    """A path that goes on after an archive, or after something that has no inside."""
    there = os.path.dirname(path.rstrip("/"))
    while there and not os.path.lexists(there):
        there = os.path.dirname(there)
    rest = path[len(there) :].strip("/")
    if not os.path.isfile(there):
        raise UnreadableFile(
            f"{path}: no such file or folder; {there or 'the current folder'} has no `{rest}`"
        )
    archive = archive_at(there)
    if archive is None:
        raise UnreadableFile(f"{path}: {there} is a file and no archive, so there is no `{rest}` in it")
    return inside(archive, rest)


def inside(archive: Archive, rest: str) -> Found:
    folder, name = os.path.split(archive.inside(rest))
    if archive.has(rest):
        return model_at(archive.under(folder), name)
    if archive.inside(rest) in archive.tree.folders:
        return in_archive(archive.under(archive.inside(rest)))
    if folder in archive.tree.folders and (found := by_prefix(archive.under(folder), name)):
        return found
    known = [*archive.tree.members, *archive.tree.folders]
    raise UnreadableFile(f"{archive.where}: no `{rest}` in this archive{near(archive.inside(rest), known)}")


def near(name: str, known: list[str]) -> str:
    """The end of a sentence: names that may have been meant."""
    from difflib import get_close_matches  # here, as only mistakes need it

    found = get_close_matches(name, known[:MOST_COMPARED], 3)
    return f"; near it: {', '.join(found)}" if found else ""
