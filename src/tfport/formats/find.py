"""Find the model in what a user passes: a path, bytes, or an open file.

`find_model(source)` returns a `ModelLocation`. A path may lead to a file, a folder, an archive, or into
an archive: `models.zip/export/1`. Which format a file has, and which file of a folder is the model, is
decided in `recognize`. For anything else, the error says what it is.
"""

from __future__ import annotations

import os
import re
import stat
from typing import IO, TypeAlias

from tfport.errors import Error, NotAModel, UnreadableFile
from tfport.formats.archive.archive import DEEPEST_NAME, Archive
from tfport.formats.archive.open import open_archive
from tfport.formats.checkpoint.signature import find_prefix
from tfport.formats.file_reader import FileReader
from tfport.formats.files import Files, Folder, MemoryFiles, reason
from tfport.formats.format import HEAD, ModelFormat, ModelLocation, OtherFile, Sample
from tfport.formats.recognize import (
    folder_models,
    locate,
    models_below,
    models_in,
    other_archive,
    other_folder,
    recognize,
)
from tfport.formats.remote import is_address

ModelSource: TypeAlias = "str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]"

ARCHIVE_NAME = re.compile(r".*\.(zip|whl|tar|tgz|tbz2?|txz|tar\.(gz|bz2|xz))")
LEVELS = 3
MOST_NAMED = 8
MOST_COMPARED = 5000


def find_model(source: ModelSource, reader: FileReader | None = None) -> ModelLocation:
    """The model that `source` refers to; if it is not a model, the error says what it is.

    `reader`: what reads the files (default: one that maps large files).
    """
    reader = reader or FileReader()
    if isinstance(source, bytes | bytearray | memoryview):
        return _in_memory(memoryview(bytes(source)), "the bytes given")
    if isinstance(source, str | os.PathLike):
        return _at_path(os.fspath(source), reader)
    if hasattr(source, "read"):
        return _in_open_file(source, reader)
    raise Error(f"expected the path of a model, its bytes or an open file, found {type(source).__name__}")


def _in_memory(data: memoryview, where: str) -> ModelLocation:
    row = recognize(Sample(MemoryFiles(where, {"": data}), ""))
    if isinstance(row, OtherFile):
        raise row.error(where)
    assert isinstance(row, ModelFormat)
    if row.bytes_name is None:
        raise UnreadableFile(f"{where}: one of several files of a {row.name}; pass its path instead")
    return ModelLocation(row, MemoryFiles(where, {row.bytes_name: data}), row.bytes_name, where)


def _in_open_file(file: IO[bytes], reader: FileReader) -> ModelLocation:
    """Use the path of the file if it still refers to it, as other files may be beside it."""
    name = getattr(file, "name", None)
    try:
        if isinstance(name, str) and os.path.samestat(os.stat(name), os.fstat(file.fileno())):
            return _at_path(name, reader)
    except (OSError, ValueError, AttributeError):
        pass
    where = name if isinstance(name, str) else "the open file"
    try:
        data = file.read()
    except (OSError, ValueError) as error:
        raise UnreadableFile(f"{where}: {reason(error)}") from None
    if not isinstance(data, bytes):
        raise Error(f"{where}: opened as text; open it with mode 'rb'")
    return _in_memory(memoryview(data), where)


def _at_path(path: str, reader: FileReader) -> ModelLocation:
    if is_address(path):
        raise Error(f"{path}: a URL, not a path; download it first")
    if "\0" in path:
        raise Error(f"{path!r}: a path cannot contain a null byte")
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        return _at_missing(path, error, reader)
    if stat.S_ISDIR(mode):
        return _in_folder(Folder(path, reader))
    if not stat.S_ISREG(mode):
        raise UnreadableFile(f"{path}: neither a file nor a folder, but a device, pipe or socket")
    if archive := _archive_at(path, reader):
        return _in_archive(archive)
    folder, name = os.path.split(path)
    return locate(Folder(folder, reader), name)


def _archive_at(path: str, reader: FileReader) -> Archive | None:
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    return open_archive(path, head, reader)


def _in_folder(files: Files) -> ModelLocation:
    models, _ = folder_models(files)
    if models:
        return _only(models, files)
    below, _ = models_below(files, LEVELS)
    if below:
        raise UnreadableFile(
            f"{files.where}: no model in this folder itself, but below it: {_list(below, files)}"
        )
    raise _no_model(files)


def _in_archive(files: Archive) -> ModelLocation:
    """The model at the top of an archive, or else the only one anywhere in it."""
    if models := models_in(files):
        return _only(models, files)
    below, errors = models_below(files, DEEPEST_NAME)
    if below:
        return _only(below, files)
    members = [n.removeprefix(f"{files.root}/") for n in files.tree.members]
    if other := other_archive(members):
        raise other.error(files.where)
    if errors:
        raise errors[0]
    raise _no_model(files)


def _only(models: list[ModelLocation], files: Files) -> ModelLocation:
    if len(models) > 1:
        raise UnreadableFile(f"{files.where}: contains {len(models)} models: {_list(models, files)}")
    return models[0]


def _list(models: list[ModelLocation], files: Files) -> str:
    """The models, relative to this folder, and how to choose one."""
    names = [os.path.relpath(model.where, files.where) for model in models[:MOST_NAMED]]
    more = f" and {len(models) - MOST_NAMED} more" if len(models) > MOST_NAMED else ""
    return f"{', '.join(names)}{more}; pass the path of one, such as {models[0].where}"


def _no_model(files: Files) -> UnreadableFile:
    """The error for a folder without a model: it says what the folder is, or what its files are."""
    names, folders = files.list()
    if not names and not folders:
        return UnreadableFile(f"{files.where}: an empty folder")
    for name in filter(files.has, names[:MOST_NAMED]):
        row = recognize(Sample(files, name))
        if isinstance(row, OtherFile) and (row.broken or len(names + folders) == 1):
            return row.error(files.label(name))
    if other := other_folder(names):
        return other.error(files.where)
    if archives := [name for name in names if ARCHIVE_NAME.fullmatch(name)]:
        hint = "unpack it first" if isinstance(files, Archive) else "pass its path"
        return NotAModel(f"{files.where}: no model, only an archive, {archives[0]}; {hint}")
    contents = [*(f"{f}/" for f in folders), *names]
    more = ", …" if len(contents) > MOST_NAMED else ""
    return NotAModel(
        f"{files.where}: no TensorFlow model; it contains {', '.join(contents[:MOST_NAMED])}{more}"
    )


def _at_missing(path: str, error: OSError | ValueError, reader: FileReader) -> ModelLocation:
    """A path that is not a file: the prefix of a checkpoint, a path into an archive, or a mistake."""
    folder, name = os.path.split(path.rstrip("/"))
    if os.path.islink(path):
        _ = Sample(Folder(folder), name).data  # raises an error that names the target of the link
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise UnreadableFile(f"{path}: {reason(error)}")
    if os.path.isdir(folder or "."):
        if model := _at_prefix(Folder(folder, reader), name):
            return model
        files, folders = Folder(folder).list()
        raise UnreadableFile(f"{path}: no such file or folder{_near(name, files + folders)}")
    return _beyond_file(path, reader)


def _at_prefix(files: Files, name: str) -> ModelLocation | None:
    """A checkpoint by its prefix; or a MetaGraph, if only that is left of one."""
    model = find_prefix(files, name)
    return model or (locate(files, name + ".meta") if files.has(name + ".meta") else None)


def _beyond_file(path: str, reader: FileReader) -> ModelLocation:
    """A path that continues after an archive, or after a file that is not an archive."""
    existing = os.path.dirname(path.rstrip("/"))
    while existing and not os.path.lexists(existing):
        existing = os.path.dirname(existing)
    rest = path[len(existing) :].strip("/")
    if not os.path.isfile(existing):
        raise UnreadableFile(
            f"{path}: no such file or folder; {existing or 'the current folder'} has no `{rest}`"
        )
    archive = _archive_at(existing, reader)
    if archive is None:
        raise UnreadableFile(f"{path}: {existing} is a file, not an archive, so it has no `{rest}`")
    return _inside(archive, rest)


def _inside(archive: Archive, rest: str) -> ModelLocation:
    folder, name = os.path.split(archive.inside(rest))
    if archive.has(rest):
        return locate(archive.under(folder), name)
    if archive.inside(rest) in archive.tree.folders:
        return _in_archive(archive.under(archive.inside(rest)))
    if folder in archive.tree.folders and (model := _at_prefix(archive.under(folder), name)):
        return model
    known = [*archive.tree.members, *archive.tree.folders]
    raise UnreadableFile(f"{archive.where}: no `{rest}` in this archive{_near(archive.inside(rest), known)}")


def _near(name: str, known: list[str]) -> str:
    """The end of a message: similar names."""
    from difflib import get_close_matches  # here, as only mistakes need it

    similar = get_close_matches(name, known[:MOST_COMPARED], 3)
    return f"; similar names: {', '.join(similar)}" if similar else ""
