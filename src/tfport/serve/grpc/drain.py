"""End a gRPC server without losing a call: answer what was received, refuse what comes later.

gRPC's own shutdown cancels every call that its library has received but not yet passed to Python, and
clients do not retry CANCELLED. So the server is stopped only after three steps:

1. calls are answered as usual until no more arrive, or for at most `LAME_DUCK_SECONDS`;
2. new calls are refused with UNAVAILABLE, while those in progress are answered;
3. `serve.grpc.connections` closes the sockets, so that the shutdown has nothing left to cancel.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from tfport.serve.grpc.health import NAME as HEALTH

LAME_DUCK_SECONDS = 1.0
"""Seconds for which calls are still accepted, if clients do not stop sending them."""
TICK = 0.03
QUIET_TICKS = 3
"""Ticks without a new call after which all have arrived; several, as the event loop may have been blocked."""


class DrainInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Counts the calls in progress, and refuses new ones at the end."""

    def __init__(self) -> None:
        self._calls: set[asyncio.Task[Any]] = set()
        self._begun = 0
        self._refuses = False
        self._idle = asyncio.Event()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return the handler of a call, or one that refuses it."""
        handler = await continuation(details)
        # streams (health, reflection) have no end to wait for, and probes must be answered
        if handler is None or handler.response_streaming or details.method.startswith(f"/{HEALTH}/"):
            return handler
        if self._refuses:
            return _refusal
        self._begun += 1
        # the task of a call ends when its status has been sent or its client has left
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        task.add_done_callback(self._ended)
        return handler

    @property
    def calls_in_progress(self) -> int:
        return len(self._calls)

    async def finish(self, grace: float) -> None:
        """Answer the calls that were received, for at most `grace` seconds, and refuse further ones."""
        try:
            async with asyncio.timeout(grace):
                await self._until_quiet()
                self._refuses = True
                while self._calls:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            self._refuses = True

    async def _until_quiet(self) -> None:
        quiet, seen = 0, self._begun
        for _ in range(round(LAME_DUCK_SECONDS / TICK)):
            await asyncio.sleep(TICK)
            quiet, seen = (quiet + 1 if self._begun == seen else 0), self._begun
            if quiet == QUIET_TICKS:
                return

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        self._idle.set()


async def _refuse(request: Any, context: Any) -> None:
    await context.abort(grpc.StatusCode.UNAVAILABLE, "the server is stopping")


_refusal = grpc.unary_unary_rpc_method_handler(_refuse)
