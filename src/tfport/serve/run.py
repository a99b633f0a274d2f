"""Run a server: start it, print its addresses and models, and drain it on SIGTERM or SIGINT."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Coroutine, Sequence
from typing import Any

from tfport.errors import Error
from tfport.operating_system import on_stop_signals, processors
from tfport.runtime.engines.gpu.cuda_runtime import DeviceCopies
from tfport.runtime.freed_memory import thread_pool
from tfport.serve.event_loop import new_runner
from tfport.serve.file_limit import raise_file_limit
from tfport.serve.flags import FlagValues
from tfport.serve.monitoring.logs import Logs, capture_module_logs, open_logger
from tfport.serve.servable import Servable
from tfport.serve.server import Server

CHECK_DELAY = 0.5
"""Seconds before the signatures are checked, so that this does not slow down the first requests."""
OTHER_THREADS = 4
"""Besides one for each processor: for work of the event loop that is no run of a model."""
LAST_SECONDS = 1.0
"""Seconds to wait for threads that have no more work."""


def run(flags: FlagValues, warnings: list[str]) -> int:
    """Serve until a stop signal arrives; return the exit code."""
    raise_file_limit()
    before = set(threading.enumerate())
    with open_logger(flags.text("log_format"), flags.text("log_level")) as logger:
        logs = Logs(logger)
        for warning in warnings:
            logs.warn("flag", message=warning)
        with new_runner() as runner:
            code = runner.run(serve_until_stopped(flags, logs))
    _exit_now(code, set(threading.enumerate()) - before)
    return code


async def serve_until_stopped(
    flags: FlagValues, logs: Logs, copies: Sequence[DeviceCopies] | None = None
) -> int:
    """Serve until a stop signal arrives, or the server cannot go on; return the exit code.

    `copies`: of the GPUs, in place of those of the flags.
    """
    stopping, stopping_now = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.set_default_executor(thread_pool(processors() + OTHER_THREADS, "work"))
    on_stop_signals(loop, lambda: (stopping_now if stopping.is_set() else stopping).set())
    server = Server(flags, logs, copies)
    try:
        if await _done_before(stopping, server.start()):
            gc.enable()  # disabled in short commands, and while the first models are loaded
            from tfport.serve.startup_message import greeting  # here, as REST answers already

            sys.stderr.write(greeting(server))  # in one piece: log lines come from another thread
            with capture_module_logs(logs.logger):
                checking = asyncio.ensure_future(_check_signatures(server))
                await _first(stopping, server.failed)
                checking.cancel()
                logs.info("draining")
                await _done_before(stopping_now, server.stop())
            return 1 if server.failure else 0
    except Error:
        await server.stop()
        raise
    await _done_before(stopping_now, server.stop())  # stopped before the start was complete
    return 0


async def _first(*events: asyncio.Event) -> None:
    """Wait for the first of some events."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    for task in waiting:
        task.cancel()


async def _done_before(event: asyncio.Event, work: Coroutine[Any, Any, None]) -> bool:
    """Whether work completed before an event; otherwise it is cancelled."""
    working, waiting = asyncio.ensure_future(work), asyncio.ensure_future(event.wait())
    await asyncio.wait((working, waiting), return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    if working.done():
        working.result()
        return True
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError, Error):
        await working
    return False


async def _check_signatures(server: Server) -> None:
    """Log which signatures run, from a thread: checking large models takes a while."""
    await asyncio.sleep(CHECK_DELAY)
    from tfport.serve.startup_message import served

    servables = [servable for servable in served(server).values() if isinstance(servable, Servable)]
    try:
        await asyncio.to_thread(_log_verdicts, server, servables)
    except Exception as error:  # the server works without the check
        server.logs.warn("signature", message=f"cannot check the signatures: {type(error).__name__}: {error}")


def _log_verdicts(server: Server, servables: list[Servable]) -> None:
    # imports all of `check`, which serving does not need
    from tfport.serve.models.signature_verdicts import signature_verdicts

    for servable in servables:
        for verdict in signature_verdicts(servable.model, server.registry):
            log = server.logs.info if verdict.runs else server.logs.warn
            log("signature", model=servable.name, version=servable.version, message=str(verdict))


def _exit_now(code: int, others: set[threading.Thread]) -> None:
    """Exit immediately if a cancelled call is still computing: nothing waits for its result."""
    until = time.monotonic() + LAST_SECONDS
    threads = [other for other in others if not other.daemon]
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0))
    if any(thread.is_alive() for thread in threads):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
