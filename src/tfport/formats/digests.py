"""SHA-256 of a model: of its file, or of the list of the files of its folder."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping
from glob import escape
from pathlib import Path

from tfport.errors import UnreadableFile
from tfport.formats.files import reason

CHUNK = 1 << 20
META = ".meta"
HOW = (
    "The SHA-256 of a file is what `sha256sum FILE` prints; that of a folder is what `cd FOLDER && "
    "find . ! -type d -printf '%P\\n' | LC_ALL=C sort | xargs -d '\\n' sha256sum | sha256sum` prints."
)


def digest(path: str | os.PathLike[str], leave_out: Collection[str] = ()) -> str:
    """The SHA-256 of a file, or of the list of files of a folder.

    The list has a line for each file, sorted by name: its SHA-256, two spaces and its name within
    the folder, as `sha256sum` prints it. Files named in `leave_out` are not listed.
    """
    sums = file_digests(path, leave_out)
    return digest_of(sums) if Path(path).is_dir() else next(iter(sums.values()))


def digest_of(sums: Mapping[str, str]) -> str:
    """The SHA-256 of a folder, from those of its files by name."""
    lines = (f"{sums[name]}  {name}\n" for name in sorted(sums))
    return hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def model_files(path: str | os.PathLike[str]) -> dict[str, str]:
    """The SHA-256 of each file of a model by name: a MetaGraph has those of its checkpoint too.

    A checkpoint is named by the prefix of its files.
    """
    if not Path(path).exists() and (files := _checkpoint_files(Path(path))):
        return files
    sums = file_digests(path)
    if str(path).endswith(META) and not Path(path).is_dir():
        sums |= _checkpoint_files(Path(str(path).removesuffix(META)))
    return sums


def _checkpoint_files(stem: Path) -> dict[str, str]:
    return {
        file.name: _of_file(file)
        for file in sorted(stem.parent.glob(f"{escape(stem.name)}.*"))
        if file.name.startswith((f"{stem.name}.index", f"{stem.name}.data-"))
    }


def model_digest(path: str | os.PathLike[str], sums: Mapping[str, str]) -> str:
    """The SHA-256 of a model, from those of its files; empty if it is not on disk."""
    if not sums:
        return ""
    own = None if Path(path).is_dir() else sums.get(Path(path).name)
    return own or digest_of(sums)


def file_digests(path: str | os.PathLike[str], leave_out: Collection[str] = ()) -> dict[str, str]:
    """The SHA-256 of each file of a folder by its name within it, or of the file itself."""
    root = Path(path)
    if not root.is_dir():
        return {root.name: _of_file(root)}
    names = sorted(name for name in _names(root) if name not in leave_out)
    return {name: _of_file(root / name) for name in names}


def _names(folder: Path) -> Iterator[str]:
    for inner, _, files in os.walk(folder):
        for file in files:
            yield Path(inner, file).relative_to(folder).as_posix()


def _of_file(path: Path) -> str:
    sha256 = hashlib.sha256()
    try:
        with open(path, "rb") as file:
            while chunk := file.read(CHUNK):
                sha256.update(chunk)
    except OSError as error:
        raise UnreadableFile(f"{path}: {reason(error)}") from None
    return sha256.hexdigest()
