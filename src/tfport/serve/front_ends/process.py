"""The process of a front end: it listens until the server tells it to stop, or is gone."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket

from tfport.serve.event_loop import new_runner
from tfport.serve.file_limit import raise_file_limit
from tfport.serve.front_ends.front_end import FrontEnd
from tfport.serve.front_ends.shared_blocks import SharedBlocks

IGNORED = (signal.SIGINT, signal.SIGTERM)
"""Signals for the server, which tells its front ends to stop."""


def main(connection: int, memory: int) -> None:
    """Serve as the front end of a server: `connection` and `memory` are file descriptors."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    raise_file_limit()
    gc.freeze()
    with new_runner() as runner:
        runner.run(_serve(connection, memory))
    os._exit(0)  # nothing is left to do, and threads of gRPC may be slow


async def _serve(connection: int, memory: int) -> None:
    front_end = FrontEnd(SharedBlocks(memory))
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: front_end.connection, sock=socket.socket(fileno=connection))
    await front_end.ended.wait()
