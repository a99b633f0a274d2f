"""Helpers: run a test against its own server, and a runner that blocks."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from tfport.graph.model import Signature
from tfport.runtime.session import Session
from tfport.serve.servable import Arrays, ThreadRunner


class Gate:
    """A runner that waits until it is opened."""

    def __init__(self, runner: ThreadRunner) -> None:
        self.open, self.waiting, self.runner = asyncio.Event(), asyncio.Event(), runner
        self.begun = self.cancelled = 0

    async def __call__(
        self, session: Session, signature: Signature, inputs: Mapping[str, Any], outputs: Sequence[str]
    ) -> Arrays:
        self.begun += 1
        self.waiting.set()
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return await self.runner(session, signature, inputs, outputs)


def run_with(opened: AbstractAsyncContextManager[Any], test: Callable[[Any], Awaitable[None]]) -> None:
    """Open a server, run a test against it, and close it."""

    async def run() -> None:
        async with opened as port:
            await test(port)

    asyncio.run(run())
