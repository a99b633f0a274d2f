"""Shared resources for loading models: threads, a folder for copies, the function that opens sessions."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import shutil
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote

from tfport.errors import RunCancelled
from tfport.operating_system import is_of_this_user, lock_file
from tfport.runtime.freed_memory import thread_pool
from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import Opener
from tfport.serve.models.options import ManagerOptions
from tfport.serve.servable import Runner
from tfport.serve.status import StatusCode
from tfport.startup.dataclass import dataclass, field

# The folder for copies of remote versions

PREFIX = "tfport-serve-"
LOCK = ".lock"


class CopyFolder:
    """Makes paths for copies of remote versions; any thread may ask for one.

    The folder is created for the first copy, and deleted at the end. A server that is killed cannot delete
    its folder. A file in it is locked as long as the server runs, and the next server that creates such a
    folder deletes those that nobody has locked.
    """

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
                os.close(self._lock)  # first: Windows keeps files that are open
                shutil.rmtree(self._path, ignore_errors=True)
                self._path = None


def delete_abandoned() -> None:
    """Delete the folders of servers that do not run anymore."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another user's, in use, or just deleted
            if folder.is_symlink() or not is_of_this_user(folder.stat()):
                continue
            if not any(folder.iterdir()):
                folder.rmdir()
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                lock_file(lock)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    """A new temporary folder, and the descriptor of its locked file."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # another server took it for abandoned before it was locked
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            lock_file(lock, wait=True)
            if (folder / LOCK).exists():
                return folder, lock
            os.close(lock)


# What models share

P = ParamSpec("P")
T = TypeVar("T")
RunnerFor = Callable[[ModelSettings, int, Session], Runner]
"""Makes the runner of one version; its `close`, if it has one, is called on unloading."""
LISTING_THREADS = 8
"""Base paths scanned in parallel: a store that does not respond delays only its own models."""


@dataclass(frozen=True, slots=True)
class LoadAttempt:
    """One attempt to load a version, for metrics and logs."""

    name: str
    version: int
    number: int
    """Counted from 1."""
    code: StatusCode
    seconds: float
    path: str = ""
    message: str = ""
    """Why it failed."""
    warm_up_requests: int = 0
    warm_up_seconds: float = 0.0


@dataclass
class LoaderResources:
    """What the models of one `ModelManager` share."""

    catalog: ModelCatalog
    runner_for: RunnerFor
    open_session: Opener
    options: ManagerOptions
    on_attempt: Callable[[LoadAttempt], None] = lambda attempt: None
    on_unload: Callable[[str, int], None] = lambda name, version: None
    copies: CopyFolder = field(default_factory=CopyFolder)
    """The folder for copies of remote versions."""
    _pools: dict[str, Executor] = field(default_factory=dict)

    def open(self) -> None:
        """Start the threads: many for loading, as there are no requests yet."""
        self._pools = {
            "list": _threads("list", LISTING_THREADS),
            "load": _threads("load", max(self.options.load_threads, os.cpu_count() or 1)),
            "unload": _threads("unload", self.options.unload_threads),
        }

    def serve(self) -> None:
        """Reduce the loading threads: from now on requests need the cores."""
        first, self._pools["load"] = self._pools["load"], _threads("load", self.options.load_threads)
        first.shutdown(wait=False)

    def close(self) -> None:
        """Release everything, without waiting for threads that are still working."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        self.copies.close()

    async def in_listing(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in("list", work, *args, **kwargs)

    async def in_loading(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in("load", work, *args, **kwargs)

    async def in_unloading(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in("unload", work, *args, **kwargs)

    async def _in(self, pool: str, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[pool], lambda: work(*args, **kwargs))


def _threads(purpose: str, count: int) -> Executor:
    return thread_pool(max(count, 1), f"tfport-{purpose}")
