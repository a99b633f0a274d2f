"""What the requests of a server share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from aiohttp import web

from tfport.startup.dataclass import dataclass
from tfport.web.daemon_thread import in_daemon_thread
from tfport.web.jobs import JobBoard
from tfport.web.model_store import LoadedModel, ModelStore
from tfport.web.options import UiOptions
from tfport.web.recent_models import RecentModels
from tfport.web.uploads import Uploads

T = TypeVar("T")
MOST_AT_ONCE = 4
"""How many requests may compute at the same time."""


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
