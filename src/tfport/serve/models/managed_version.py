"""State of one version of a model while it is loaded, served and unloaded."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import time
from pathlib import Path
from typing import Any

from tfport.runtime.bounds.stop_signal import StopSignal
from tfport.runtime.freed_memory import return_freed_memory
from tfport.serve.models.loading import delete_copy
from tfport.serve.models.policy import LoadStage
from tfport.serve.models.store import Stamp, VersionStore
from tfport.serve.servable import Servable
from tfport.serve.status import StatusError
from tfport.startup.dataclass import dataclass, field


@dataclass(eq=False)
class ManagedVersion:
    """A version: a number and the path it is loaded from."""

    number: int
    path: str
    store: VersionStore
    aspired: bool = True
    stage: LoadStage = LoadStage.NEW
    unwanted: bool = False
    """Whether it was dropped while loading or being served."""
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Ends the wait for a retry: the version was dropped, or written again."""
    stop: StopSignal = field(default_factory=StopSignal)
    """Ends loading: the version was dropped."""
    servable: Servable | None = None
    copy: Path | None = None
    error: StatusError | None = None
    """Why the last attempt to load it failed."""
    stamp: Stamp | None = None
    """Stamp of its files at the last attempt."""


# Unload a version: wait for calls in progress, then free its memory and its copy

LOG = logging.getLogger(__name__)
CHECK_SECONDS = 0.005
"""Interval of checks whether calls are still running."""


async def drained(servable: Servable, seconds: float) -> bool:
    """Wait until no call is running; return whether that happened in time."""
    end = time.monotonic() + seconds
    await asyncio.sleep(0)  # a request that has just received the servable may start its call
    while servable.running:
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(CHECK_SECONDS)
    return True


async def close_runner(runner: Any) -> None:
    """Close a runner that has a `close` method."""
    close = getattr(runner, "close", None)
    if close is None:
        return
    try:
        done = close()
        if inspect.isawaitable(done):
            await done
    except Exception as error:
        LOG.error("cannot close a runner: %s", error)


def free(copy: Path | None) -> None:
    """Delete the copy and collect garbage: a session has reference cycles that keep its weights."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    return_freed_memory()
    delete_copy(copy)
