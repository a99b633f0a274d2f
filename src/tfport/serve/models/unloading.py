"""Letting go of a version: calls that have begun end, then what it held is freed."""

from __future__ import annotations

import asyncio
import gc
import inspect
import logging
import time
from pathlib import Path
from typing import Any

from tfport.serve.models.loading import delete_copy
from tfport.serve.servable import Servable

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 0.005
"""Between two looks at whether calls are still running."""


async def drained(servable: Servable, seconds: float) -> bool:
    """Wait until no call runs; whether that came to be in time."""
    end = time.monotonic() + seconds
    await asyncio.sleep(0)  # who has just been given it may begin
    while servable.running:
        if time.monotonic() >= end:
            return False
        await asyncio.sleep(LOOK_SECONDS)
    return True


async def close_runner(runner: Any) -> None:
    """Tell a runner that has something to let go of; most have nothing."""
    close = getattr(runner, "close", None)
    if close is None:
        return
    try:
        done = close()
        if inspect.isawaitable(done):
            await done
    except Exception as error:
        LOG.error("a runner cannot be closed: %s", error)


def free(copy: Path | None) -> None:
    """Delete the copy; a session is full of cycles, and holds its weights until they are found."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    delete_copy(copy)
