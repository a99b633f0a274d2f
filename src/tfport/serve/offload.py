"""Run work on large data in a thread, so that it does not block the event loop.

Small data is handled in place: handing it to a thread would take longer than the work.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

LARGE = 2**20
"""Size in bytes from which a thread pays off: about a millisecond of copying."""
Answer = TypeVar("Answer")


async def offload(size: int, work: Callable[..., Answer], *args: Any) -> Answer:
    """Run `work(*args)`, which handles `size` bytes: in a thread if that is large, else here."""
    return await asyncio.to_thread(work, *args) if size >= LARGE else work(*args)
