"""The event loop of a server or a front end."""

from __future__ import annotations

import asyncio


def new_runner() -> asyncio.Runner:
    """Return an event loop runner, with uvloop if it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)
