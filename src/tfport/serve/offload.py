"""Work on many bytes goes to a thread, as it would hold up the event loop; for few that takes longer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

LARGE = 2**20
"""Bytes from which on a thread is worth its while: about a millisecond of copying."""
Answer = TypeVar("Answer")


async def offload(size: int, work: Callable[..., Answer], *args: Any) -> Answer:
    """Do work on so many bytes."""
    return await asyncio.to_thread(work, *args) if size >= LARGE else work(*args)
