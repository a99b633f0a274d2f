"""A worker process: read one body after another until the server closes the connection.

The server sends a function with its arguments and a body; the worker sends the result back, or the error.
"""

from __future__ import annotations

import gc
import os
import signal
import socket
from contextlib import suppress
from pathlib import Path

from tfport.serve.status import StatusCode, StatusError
from tfport.serve.workers.transfer import MemoryFile, receive, send

IGNORED = (signal.SIGINT, signal.SIGTERM)
"""Signals for the server, which closes the connection when it ends."""

NICENESS = 2
"""Workers give way to the server, which answers health checks and other requests, but only a little: with 10,
a worker would get a tenth of the time of a busy server, and its request would time out."""


def main(fd: int) -> None:
    """Serve the connection with this file descriptor."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    with suppress(OSError):  # if memory runs out, the system ends a worker and not the server
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="utf-8")
    os.nice(NICENESS)
    gc.disable()  # JSON has no cycles, and searching millions of objects for them takes long
    with socket.socket(fileno=fd) as connection, suppress(EOFError, ConnectionError):
        while True:
            _answer(connection)


def _answer(connection: socket.socket) -> None:
    (job, args), (body,) = receive(connection)
    send(connection, _result(job, args, body))


def _result(job: object, args: tuple[object, ...], body: MemoryFile) -> object:
    view = body.view()
    content = bytes(view)
    view.release()
    body.close()
    try:
        return job(content, *args)  # type: ignore[operator]
    except MemoryError:
        return StatusError(StatusCode.RESOURCE_EXHAUSTED, "OOM: not enough memory to read the body")
    except Exception as error:
        error.__traceback__ = None
        return error
