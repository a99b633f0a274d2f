"""The event loop of a server or a front end: its runner, work in threads, and waiting for quiet clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import Any, TypeVar

from tfport.operating_system import is_windows

LARGE = 2**20
"""Size in bytes from which a thread pays off: about a millisecond of copying."""
LONGEST = 1.0
"""Seconds to wait for quiet clients, at most."""
LONGEST_IF_BUSY = 5.0
"""Where each moment lasts longer than it should: what has begun needs the rest of the time to stop."""
_TICK = 0.03
_QUIET_TICKS = 3  # several, because the event loop may have been blocked
Answer = TypeVar("Answer")


def new_runner() -> asyncio.Runner:
    """Return an event loop runner, with uvloop if it is installed."""
    if is_windows():  # asyncio's default there does not watch the sockets that listen
        return asyncio.Runner(loop_factory=asyncio.SelectorEventLoop)
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


async def until_quiet(count: Callable[[], int], nothing_waits: Callable[[], bool] = lambda: True) -> bool:
    """Wait until the number of begun requests stays the same for a moment; return whether it did.

    On a busy machine, requests come late: a moment that lasts longer than it should does not count, and
    `nothing_waits` says whether all that clients have sent was read.
    """
    quiet, seen, end = 0, count(), monotonic() + LONGEST_IF_BUSY
    for _ in range(round(LONGEST / _TICK)):
        began = monotonic()
        if began > end:
            return False
        await asyncio.sleep(_TICK)
        is_late = monotonic() - began > 2 * _TICK
        quiet = quiet + 1 if count() == seen and not is_late and nothing_waits() else 0
        seen = count()
        if quiet == _QUIET_TICKS:
            return True
    return False
