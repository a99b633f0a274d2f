"""Shared resources for loading models: threads, a folder for copies, the function that opens sessions."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.copy_folder import CopyFolder
from tfport.serve.models.loading import Opener
from tfport.serve.models.options import ManagerOptions
from tfport.serve.servable import Runner
from tfport.serve.status import StatusCode
from tfport.startup.dataclass import dataclass, field

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


def _threads(purpose: str, count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(count, 1), thread_name_prefix=f"tfport-{purpose}")
