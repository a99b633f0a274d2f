"""A server from its first line to its last: started, told about, and drained when it is asked to end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from typing import Any

from tfport.errors import Error
from tfport.serve.flags import FlagValues
from tfport.serve.monitoring.logs import Logs, capture_module_logs, open_logger
from tfport.serve.server import Server
from tfport.serve.startup_message import addresses, models, served

ENDS = (signal.SIGTERM, signal.SIGINT)
GREETS_AFTER = 0.5
"""Seconds for who has waited for the port: the first requests are not slowed down by the greeting."""
LAST_SECONDS = 1.0
"""How long threads may take to end that were not asked to compute anything more."""


def run(flags: FlagValues, remarks: list[str]) -> int:
    """Serve until a signal says to end; the exit code."""
    before = set(threading.enumerate())
    with open_logger(flags.text("log_format"), flags.text("log_level")) as logger:
        logs = Logs(logger)
        for remark in remarks:
            logs.warn("flag", message=remark)
        with _runner() as runner:
            code = runner.run(_serve(flags, logs))
    _leave(code, set(threading.enumerate()) - before)
    return code


def _runner() -> asyncio.Runner:
    """An event loop: the faster one where it is installed."""
    try:
        import uvloop
    except ImportError:
        return asyncio.Runner()
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


async def _serve(flags: FlagValues, logs: Logs) -> int:
    ended, hurry = asyncio.Event(), asyncio.Event()
    for number in ENDS:
        asyncio.get_running_loop().add_signal_handler(
            number, lambda: (hurry if ended.is_set() else ended).set()
        )
    server = Server(flags, logs)
    try:
        if await _done_before(ended, server.start()):
            gc.enable()  # commands that end soon go without, and so do the first models while they are loaded
            print(addresses(server), flush=True, file=sys.stderr)
            with capture_module_logs(logs.logger):
                telling = asyncio.ensure_future(_greet(server))
                await ended.wait()
                telling.cancel()
                logs.say("draining")
                await _done_before(hurry, server.stop())
            return 0
    except Error:
        await server.stop()
        raise
    await _done_before(hurry, server.stop())  # asked to end before it has begun
    return 0


async def _done_before(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Whether work was done when an event came; it is given up otherwise."""
    doing, coming = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    await asyncio.wait((doing, coming), return_when=asyncio.FIRST_COMPLETED)
    coming.cancel()
    if doing.done():
        doing.result()
        return True
    doing.cancel()
    with contextlib.suppress(asyncio.CancelledError, Error):
        await doing
    return False


async def _greet(server: Server) -> None:
    """Tell what is served, from a thread: looking at large models takes a while, and nobody waits for it."""
    await asyncio.sleep(GREETS_AFTER)
    try:
        text = await asyncio.to_thread(models, server, served(server))
    except Exception as error:  # the server is none the worse for it
        server.logs.warn(
            "greeting", message=f"the signatures cannot be told: {type(error).__name__}: {error}"
        )
    else:
        print(text, flush=True, file=sys.stderr)


def _leave(code: int, others: set[threading.Thread]) -> None:
    """End here and now where a call that was cut off still computes: nobody waits for it."""
    until = time.monotonic() + LAST_SECONDS
    threads = [other for other in others if not other.daemon]
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))
    if any(thread.is_alive() for thread in threads):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
