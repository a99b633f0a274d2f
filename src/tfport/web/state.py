"""What the requests of a server share: models, threads to compute in, and the models opened last."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from tfport.startup.dataclass import dataclass
from tfport.web.jobs import JobBoard
from tfport.web.model_store import LoadedModel, ModelStore
from tfport.web.options import UiOptions
from tfport.web.uploads import Uploads

T = TypeVar("T")
MOST_AT_ONCE = 4
"""How many requests may compute at the same time."""
MOST = 20
"""Models that are remembered."""


@dataclass
class ServerState:
    """Models, and how to compute something about one."""

    options: UiOptions
    store: ModelStore
    computing: asyncio.Semaphore
    jobs: JobBoard
    uploads: Uploads
    folder: Path
    """Temporary files, removed at the end."""
    recent: RecentModels | None

    async def about(self, id: str, compute: Callable[[LoadedModel], T]) -> T:
        """Compute something about a model, in a thread."""

        def work() -> T:
            loaded = self.store.load(id)
            with loaded.lock:
                return compute(loaded)

        return await self.in_thread(work)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Compute something in a thread; a few at a time."""
        async with self.computing:
            return await in_daemon_thread(work)


STATE = web.AppKey("state", ServerState)


def state_of(request: web.Request) -> ServerState:
    return request.app[STATE]


class RecentModels:
    """Paths of the models opened last, in the user's cache folder; a file that cannot be used is ignored."""

    def __init__(self, path: Path | None = None) -> None:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        self._path = path or Path(cache) / "tfport" / "ui_recent.json"

    def paths(self) -> list[str]:
        """The paths, the last opened first."""
        try:
            stored = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return []
        return [p for p in stored if isinstance(p, str)][:MOST] if isinstance(stored, list) else []

    def add(self, path: str) -> None:
        """Remember that a model was opened."""
        paths = [path, *(known for known in self.paths() if known != path)][:MOST]
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            temporary = self._path.with_suffix(f".{os.getpid()}")
            temporary.write_text(json.dumps(paths), encoding="utf-8")
            temporary.replace(self._path)
        except OSError:
            return


async def in_daemon_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises; it goes on, unheard, if the request is canceled.

    The thread ends with the process. Those of `asyncio.to_thread` are waited for at the end, which takes
    minutes for a large model.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def compute() -> None:
        result, error = None, None
        try:
            result = work()
        except BaseException as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=compute, daemon=True, name="tfport-ui").start()
    return await future
