"""The event loop of a server or a front end: its runner, work in threads, and waiting for quiet clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

LARGE = 2**20
"""Size in bytes from which a thread pays off: about a millisecond of copying."""
LONGEST = 1.0
"""Seconds to wait for quiet clients, at most."""
_TICK = 0.03
_QUIET_TICKS = 3  # several, because the event loop may have been blocked
Answer = TypeVar("Answer")


def new_runner() -> asyncio.Runner:
    """Return an event loop runner, with uvloop if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def offload(size: int, work: Callable[..., Answer], *args: Any) -> Answer:
    """Run `work(*args)`, which handles `size` bytes: in a thread if that is large, so that the loop goes on.

    Small data is handled here: handing it to a thread would take longer than the work.
    """
    return await asyncio.to_thread(work, *args) if size >= LARGE else work(*args)


async def until_quiet(count: Callable[[], int]) -> bool:
    """Wait until the number of begun requests stays the same for a moment; return whether it did."""
    quiet, seen = 0, count()
    for _ in range(round(LONGEST / _TICK)):
        await asyncio.sleep(_TICK)
        quiet, seen = (quiet + 1 if count() == seen else 0), count()
        if quiet == _QUIET_TICKS:
            return True
    return False
