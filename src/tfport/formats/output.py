"""Write new files and folders atomically.

They are written under a temporary name beside their final path and renamed at the
end. After an error nothing is left. Nothing is overwritten but by `replace_file`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tfport.errors import Error
from tfport.formats.files import Files, reason, release_mapped

CHUNK = 1 << 20


CERTIFICATES = ("certificate.json", "certificate.html")
"""The ends of what is written beside a model that was compared."""


def require_new(path: str | os.PathLike[str]) -> None:
    """Refuse a path that exists."""
    if os.path.lexists(path):
        raise Error(
            f"{path}: already exists; tfport does not overwrite files, so choose another path or remove it"
        )


def without_slash(path: str) -> str:
    """A path without separators at its end; Windows has two of them."""
    return path.rstrip(os.sep + (os.altsep or ""))


def certificate_paths(path: str | os.PathLike[str]) -> list[str]:
    """Where the certificates of a model lie."""
    beside = without_slash(os.fspath(path)).removesuffix(".meta")
    return [f"{beside}.{end}" for end in CERTIFICATES]


def require_new_model(path: str | os.PathLike[str]) -> None:
    """Refuse a path that exists, or whose certificates do: before the work, not after it."""
    for new in (path, *certificate_paths(path)):
        require_new(new)


@contextmanager
def new_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path to write to; it is renamed to `path` when the block ends without an error."""
    final = Path(path)
    require_new(final)
    temporary = final.with_name(f".{final.name}.{os.urandom(8).hex()}")
    new_folders = [folder for folder in final.parents if not os.path.lexists(folder)]
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.rename(temporary, final)
    except BaseException as error:
        _remove(temporary, new_folders)
        if isinstance(error, OSError):
            raise Error(f"{final}: cannot be written: {reason(error)}") from None
        raise


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, in place of one that may be there and be read now; OSError if that is impossible."""
    temporary = f"{os.fspath(path)}.{os.urandom(8).hex()}"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def _remove(path: Path, folders: Iterable[Path]) -> None:
    """Remove an incomplete output, and the folders created for it if they are empty."""
    import shutil  # here, as it imports compression libraries

    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink()
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


def copy_file(files: Files, name: str, to: Path) -> None:
    """Copy a file of a model."""
    to.parent.mkdir(parents=True, exist_ok=True)
    data = files.map(name)
    with open(to, "xb") as out:
        for start in range(0, len(data), CHUNK):
            out.write(data[start : start + CHUNK])
            release_mapped(data)


def copy_folder(files: Files, folder: str, to: Path) -> None:
    """Copy a folder of a model with its contents."""
    names, folders = files.list(folder)
    for name in names:
        copy_file(files, f"{folder}/{name}", to / name)
    for inner in folders:
        copy_folder(files, f"{folder}/{inner}", to / inner)
