"""Worker processes for large bodies: started when needed, limited in number, ended when idle.

    workers = WorkerPool(processes=2)
    request = await workers.read(body, decode, signature_of)      decode(bytes, signature_of)
    workers.close()

Parsers of JSON hold Python's interpreter lock, so a large body in a thread would stop the event loop. A
small body (`bytes`) is read here. A large one (`MemoryFile`) waits for a worker; if its request is
cancelled, the worker is ended.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from tfport.formats.files import reason
from tfport.runtime.freed_memory import thread_pool
from tfport.serve.event_loop import offload
from tfport.serve.status import StatusCode, StatusError
from tfport.serve.workers.transfer import MemoryFile, receive, send

LARGE = 2 * 2**20
"""Size in bytes from which a body is read in a worker: some 20 milliseconds of work."""
IDLE_SECONDS = 60.0
"""An idle worker is ended after this time, which frees its memory."""
_START = "import sys; sys.path[:] = {path!r}; from {module} import main; main({fd})"
Answer = TypeVar("Answer")
Body = bytes | MemoryFile
"""The body of a request; a large one is a file in memory."""


class WorkerPool:
    """The worker processes of a server."""

    def __init__(self, processes: int = 2, large: int = LARGE) -> None:
        """`processes` is the maximum number; with 0, bodies are read in threads of this process."""
        self.large = large if processes else sys.maxsize
        """Size in bytes from which a body should be a `MemoryFile`."""
        self._threads = thread_pool(max(processes, 1), "workers")  # each waits for one worker
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []

    async def read(self, body: Body, job: Callable[..., Answer], *args: Any) -> Answer:
        """Return `job(body, *args)`, computed here or in a worker."""
        if isinstance(body, bytes):
            return await offload(len(body), job, body, *args)
        loop, call = asyncio.get_running_loop(), _Call(body, job, args)
        try:
            return await loop.run_in_executor(self._threads, self._run, call)
        except asyncio.CancelledError:
            with self._lock:
                call.cancel()
            raise
        finally:
            loop.call_later(IDLE_SECONDS, self._end_idle, loop)

    def close(self) -> None:
        """End the idle workers; the others are ended by cancelling their requests."""
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _run(self, call: _Call) -> Any:
        """Let a worker answer a call; runs in a thread."""
        with self._lock:
            call.worker = self._idle.pop() if self._idle else None
        worker = call.worker or _Worker()
        with self._lock:
            call.worker = worker
            if call.cancelled:
                worker.kill()
        try:
            answer = worker.ask(call)
        except (EOFError, OSError):
            worker.close()
            raise _ended(worker.process.returncode, len(call.body)) from None
        finally:
            call.body.close()
        with self._lock:
            call.worker = None
            worker.idle_since = time.monotonic()
            if not call.cancelled:
                self._idle.append(worker)
        if call.cancelled:
            worker.close()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _end_idle(self, loop: asyncio.AbstractEventLoop) -> None:
        until = time.monotonic() - IDLE_SECONDS
        with self._lock:
            ended = [worker for worker in self._idle if worker.idle_since <= until]
            self._idle = [worker for worker in self._idle if worker not in ended]
        for worker in ended:
            loop.run_in_executor(None, worker.close)


class _Call:
    """A body that a worker reads."""

    def __init__(self, body: MemoryFile, job: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.body, self.job, self.args = body, job, args
        self.worker: _Worker | None = None
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True
        if self.worker is not None:
            self.worker.kill()


class _Worker:
    """A worker process and the connection to it."""

    def __init__(self) -> None:
        self.connection, theirs = socket.socketpair()
        self.idle_since = 0.0
        script = _START.format(path=sys.path, module="tfport.serve.workers.process", fd=theirs.fileno())
        with theirs:
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-c", script],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
            except OSError as error:
                self.connection.close()
                raise StatusError(
                    StatusCode.RESOURCE_EXHAUSTED,
                    f"A process to read the body cannot be started: {reason(error)}",
                ) from None

    def ask(self, call: _Call) -> Any:
        send(self.connection, (call.job, call.args), call.body)
        return receive(self.connection)[0]

    def kill(self) -> None:
        """End the process in the middle of its work."""
        self.process.kill()

    def close(self) -> None:
        """Let the process end, and wait for it."""
        with suppress(OSError):  # it has ended
            self.connection.shutdown(socket.SHUT_RDWR)  # the end also of a duplicate of the socket
        self.connection.close()
        self.process.wait()


def _ended(code: int | None, size: int) -> StatusError:
    return StatusError(
        StatusCode.RESOURCE_EXHAUSTED,
        f"The process that read the body of {size} bytes ended with exit code {code}; "
        "it may have run out of memory",
    )
