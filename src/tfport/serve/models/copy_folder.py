"""The folder for copies of remote versions: made for the first copy, and deleted at the end.

A server that is killed cannot delete its folder. A file in it is locked as long as the server runs, and
the next server that makes such a folder deletes those that nobody has locked.
"""

from __future__ import annotations

import atexit
import fcntl
import itertools
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from tfport.errors import RunCancelled

PREFIX = "tfport-serve-"
LOCK = ".lock"


class CopyFolder:
    """Makes paths for copies; any thread may ask for one."""

    def __init__(self, path: Path | None = None) -> None:
        """`path`: a folder of the user, which is kept (default: a temporary folder)."""
        self._path, self._is_own = path, path is None
        self._numbers = itertools.count()
        self._guard = threading.Lock()
        self._lock = -1
        self._closed = False

    def new_path(self, name: str, version: int) -> Path:
        """A new path for a copy of a version."""
        with self._guard:
            if self._closed:
                raise RunCancelled("the server stops")
            if self._path is None:
                delete_abandoned()
                self._path, self._lock = _locked_folder()
                atexit.register(shutil.rmtree, self._path, ignore_errors=True)  # a thread may still copy
        # a model may have any name, a folder may not
        return self._path / quote(name, safe="")[:100] / f"{version}-{os.getpid()}-{next(self._numbers)}"

    def close(self) -> None:
        """Delete the temporary folder."""
        with self._guard:
            self._closed = True
            if self._is_own and self._path is not None:
                shutil.rmtree(self._path, ignore_errors=True)
                os.close(self._lock)
                self._path = None


def delete_abandoned() -> None:
    """Delete the folders of servers that do not run anymore."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, in use, or just deleted
            if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
                continue
            if not any(folder.iterdir()):
                folder.rmdir()
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    """A new temporary folder, and the descriptor of its locked file."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # another server took it for abandoned before it was locked
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            if (folder / LOCK).exists():
                return folder, lock
            os.close(lock)
