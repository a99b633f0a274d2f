"""What loading needs and all models share: threads, a folder for copies, how a session is made."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ParamSpec, TypeVar
from urllib.parse import quote

from tfport.runtime.session import Session
from tfport.serve.model_catalog import ModelCatalog
from tfport.serve.models.config import ModelSettings
from tfport.serve.models.loading import Opener
from tfport.serve.models.options import ManagerOptions
from tfport.serve.servable import Runner
from tfport.serve.status import StatusCode

P = ParamSpec("P")
T = TypeVar("T")
RunnerFor = Callable[[ModelSettings, int, Session], Runner]
"""Makes the runner of one version; where that has a `close`, it is called when the version is let go."""
LISTING_THREADS = 8
"""Base paths looked at side by side: a store that does not answer holds up only itself."""


@dataclass(frozen=True, slots=True)
class LoadAttempt:
    """One attempt to load a version, for who counts them."""

    name: str
    version: int
    number: int
    """1 for the first."""
    code: StatusCode
    seconds: float
    path: str = ""
    message: str = ""
    """Why it failed."""
    warm_up_requests: int = 0
    warm_up_seconds: float = 0.0


@dataclass
class LoaderResources:
    """The means of one `ModelManager`."""

    catalog: ModelCatalog
    runner_for: RunnerFor
    open_session: Opener
    options: ManagerOptions
    on_attempt: Callable[[LoadAttempt], None] = lambda attempt: None
    on_unload: Callable[[str, int], None] = lambda name, version: None
    cache: Path | None = None
    """Where copies of remote versions go; a temporary folder unless said."""
    _pools: dict[str, Executor] = field(default_factory=dict)
    _numbers: itertools.count[int] = field(default_factory=itertools.count)
    _temporary: Path | None = None

    def open(self) -> None:
        """Have threads: many for loading, as nobody is served yet."""
        self._pools = {
            "list": _threads("list", LISTING_THREADS),
            "load": _threads("load", max(self.options.load_threads, os.cpu_count() or 1)),
            "unload": _threads("unload", self.options.unload_threads),
        }

    def serve(self) -> None:
        """From now on loading leaves the machine to those who are served."""
        first, self._pools["load"] = self._pools["load"], _threads("load", self.options.load_threads)
        first.shutdown(wait=False)

    def close(self) -> None:
        """Let go of it all; what a thread still does is waited for by nobody."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    async def in_listing(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in("list", work, *args, **kwargs)

    async def in_loading(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in("load", work, *args, **kwargs)

    async def in_unloading(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._in("unload", work, *args, **kwargs)

    async def _in(self, pool: str, work: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pools[pool], lambda: work(*args, **kwargs))

    def new_copy(self, name: str, version: int) -> Path:
        """A path for a copy, which nothing has yet; `close` deletes the temporary folder."""
        root = self.cache
        if root is None:
            root = self._temporary = self._temporary or Path(tempfile.mkdtemp(prefix="tfport-serve-"))
        # names of models may be anything; folders may not
        return root / quote(name, safe="")[:100] / f"{version}-{os.getpid()}-{next(self._numbers)}"


def _threads(purpose: str, count: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max(count, 1), thread_name_prefix=f"tfport-{purpose}")
