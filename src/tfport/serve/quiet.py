"""Wait until clients are quiet, before a server stops to listen to them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

LONGEST = 1.0
"""Seconds to wait at most, if clients do not stop."""
_TICK = 0.03
_QUIET_TICKS = 3  # several, as the event loop may have been blocked


async def until_quiet(count: Callable[[], int]) -> None:
    """Wait until the number of requests that have begun stays the same for a moment."""
    quiet, seen = 0, count()
    for _ in range(round(LONGEST / _TICK)):
        await asyncio.sleep(_TICK)
        quiet, seen = (quiet + 1 if count() == seen else 0), count()
        if quiet == _QUIET_TICKS:
            return
