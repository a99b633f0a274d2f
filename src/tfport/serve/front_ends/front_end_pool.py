"""The front ends of a server: start them, answer their calls, restart one that ends, stop them.

    pool = FrontEndPool(4, services, health, options, files, logs)
    port = await pool.start()
    await pool.stop(grace=10)

The processes share the port (SO_REUSEPORT): the system distributes connections among them.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from tfport.errors import Error
from tfport.formats.files import reason
from tfport.runtime.engines.gpu.cuda_runtime import DeviceCopies
from tfport.runtime.engines.gpu.pinned_memory import pin, unpin
from tfport.serve.front_ends.messages import (
    NAMES,
    STATE,
    BlocksFree,
    CallAnswer,
    CallCancelled,
    CallRefused,
    FrontEndCall,
    Listening,
    MessageConnection,
    StartListening,
    StopListening,
)
from tfport.serve.front_ends.shared_blocks import SharedBlocks
from tfport.serve.grpc.health import NAME as HEALTH
from tfport.serve.grpc.health import HealthStates
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.reflection import DescribeFile
from tfport.serve.grpc.service import Caller, DetachedContents, GrpcMethod, GrpcService, answer_call
from tfport.serve.monitoring.logs import Logs
from tfport.serve.status import StatusError
from tfport.startup.dataclass import replace
from tfport.words import bracketed

BLOCK_BYTES = 128 * 2**20
"""Shared memory of each front end; a request that finds no room in it goes through the connection."""
RESTART_SECONDS = 1.0
LAST_SECONDS = 5.0
"""Seconds that a front end may take to end after its calls have ended."""
_START = "import sys; sys.path[:] = {path!r}; from {module} import main; main({connection}, {memory})"
MODULE = "tfport.serve.front_ends.front_end"


class FrontEndPool:
    """The processes that listen on the gRPC port of a server."""

    def __init__(
        self,
        count: int,
        services: Sequence[GrpcService],
        health: HealthStates,
        options: GrpcOptions,
        files: Sequence[DescribeFile],
        logs: Logs,
        copies: DeviceCopies | None = None,
        *,
        groups: int = 0,
    ) -> None:
        """`copies`: pins the shared memory, for a GPU. `groups`: rows of requests that may come together."""
        self._count, self._options, self._health, self._logs = count, options, health, logs
        self._copies = copies
        self.methods = {(s.name, method.name): method for s in services for method in s.methods}
        self.observers = options.observers
        self._start_message = StartListening(
            options,
            {service.name: [method.name for method in service.methods] for service in services},
            [describe().SerializeToString() for describe in files],
            groups,
        )
        self._ends: list[_FrontEndProcess] = []
        self._reserved: socket.socket | None = None
        self._restarts: set[asyncio.Task[None]] = set()
        self._stopping = False

    async def start(self) -> int:
        """Start the processes; return the port that they listen on."""
        self._reserved = _reserve(self._options.host, self._options.port or 0)
        port: int = self._reserved.getsockname()[1]
        shared = {**self._options.channel_arguments, "grpc.so_reuseport": 1}
        options = replace(
            self._options,
            port=port,
            socket_path="",
            channel_arguments=shared,
            observers=Observers(),
            metric=None,
        )
        self._start_message = self._start_message._replace(options=options)
        started = await asyncio.gather(
            *(self._start_process() for _ in range(self._count)), return_exceptions=True
        )
        if problem := next((each for each in started if isinstance(each, BaseException)), None):
            await self.stop(0)
            raise problem
        return port

    async def stop(self, grace: float = 0.0) -> None:
        """Let the front ends answer the calls that they have received, and end them."""
        self._stopping = True
        for task in self._restarts:
            task.cancel()
        await asyncio.gather(*(end.stop(grace) for end in list(self._ends)))
        if self._reserved is not None:
            self._reserved.close()

    @property
    def calls_in_progress(self) -> int:
        return sum(len(end.calls) for end in self._ends)

    async def answer(self, call: FrontEndCall, contents: dict[str, Any]) -> bytes | str:
        """Answer a call of a front end, or raise a StatusError."""
        if call.service == HEALTH:
            return await self._health_answer(call.method, call.data.decode())
        method: GrpcMethod = self.methods[call.service, call.method]
        caller = Caller(call.headers, call.peer)
        return await answer_call(
            method, call.data, self.observers, caller, DetachedContents(contents, call.requests)
        )

    async def _health_answer(self, question: str, name: str) -> str:
        if question == NAMES:
            return "\n".join(await self._health.names())
        assert question == STATE
        return str(await self._health.state(name))

    async def _start_process(self) -> None:
        end = _FrontEndProcess(self)
        self._ends.append(end)
        if self._copies is not None:
            pin(end.blocks.bytes, self._copies)
        await end.start(self._start_message)

    def ended(self, end: _FrontEndProcess) -> None:
        """Replace a front end that has ended, unless the server stops."""
        self._ends.remove(end)
        if self._copies is not None:
            unpin(end.blocks.bytes, self._copies)
        if not self._stopping and end.listens:
            self._logs.warn("front_end", message=f"a front end ended with {end.how_it_ended()}; restarting")
            task = asyncio.ensure_future(self._restart())
            self._restarts.add(task)
            task.add_done_callback(self._restarts.discard)

    async def _restart(self) -> None:
        while True:
            await asyncio.sleep(RESTART_SECONDS)
            try:
                return await self._start_process()
            except Error as error:
                self._logs.warn("front_end", message=f"a front end cannot start: {error}")


class _FrontEndProcess:
    """One front end, as the server sees it."""

    def __init__(self, pool: FrontEndPool) -> None:
        self._pool = pool
        self.blocks = SharedBlocks.create(BLOCK_BYTES)
        self.connection = MessageConnection(self._received, self._lost)
        self.calls: dict[int, asyncio.Task[None]] = {}
        self._used: dict[int, list[weakref.ref[Any]]] = {}
        """The arrays of each call's blocks; the blocks are free when nothing uses these any more."""
        self._listening = asyncio.get_running_loop().create_future()
        self._ended = asyncio.Event()
        self._loop = asyncio.get_running_loop()
        self.process = self._spawn()

    @property
    def listens(self) -> bool:
        return self._listening.done() and not self._listening.cancelled()

    def how_it_ended(self) -> str:
        try:
            return f"exit code {self.process.wait(LAST_SECONDS)}"
        except subprocess.TimeoutExpired:
            return "a closed connection"

    def _spawn(self) -> subprocess.Popen[bytes]:
        self._ours, theirs = socket.socketpair()
        with theirs:
            script = _START.format(
                path=sys.path, module=MODULE, connection=theirs.fileno(), memory=self.blocks.fd
            )
            try:
                return subprocess.Popen(
                    [sys.executable, "-c", script],
                    pass_fds=[theirs.fileno(), self.blocks.fd],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                )
            except OSError as error:
                raise Error(f"a front end cannot be started: {reason(error)}") from None

    async def start(self, message: StartListening) -> None:
        await self._loop.create_connection(lambda: self.connection, sock=self._ours)
        self.connection.send(message)
        problem = await self._listening
        if problem:
            raise Error(problem)

    async def stop(self, grace: float) -> None:
        self.connection.send(StopListening(grace))
        try:
            async with asyncio.timeout(grace + LAST_SECONDS):
                await self._ended.wait()
                await asyncio.to_thread(self.process.wait)
        except TimeoutError:
            self.process.kill()
            await asyncio.to_thread(self.process.wait)
        self.blocks.close()

    def _received(self, message: object) -> None:
        match message:
            case FrontEndCall():
                task = asyncio.ensure_future(self._answer(message))
                self.calls[message.id] = task
            case CallCancelled(id=number):
                if task_of_call := self.calls.get(number):
                    task_of_call.cancel()
            case CallRefused(entrypoint, refusal, peer, fields):
                metrics = self._pool.observers.metrics
                if metrics is not None:
                    metrics.refused(entrypoint, refusal, peer, **fields)
            case Listening(problem=problem):
                self._listening.set_result(problem)

    async def _answer(self, call: FrontEndCall) -> None:
        contents = {name: self.blocks.view(*place) for name, place in call.places.items()}
        if contents:
            freed = self._watch(call.id)
            self._used[call.id] = [weakref.ref(array, freed) for array in contents.values()]
        try:
            content: bytes | str = await self._pool.answer(call, contents)
            self.connection.send(CallAnswer(call.id, 0, content))
        except StatusError as error:
            self.connection.send(CallAnswer(call.id, error.code.number, error.message))
        finally:
            del self.calls[call.id]

    def _watch(self, number: int) -> Callable[[Any], None]:
        def freed(_: Any) -> None:
            self._loop.call_soon_threadsafe(self._free, number)

        return freed

    def _free(self, number: int) -> None:
        used = self._used.get(number, [])
        if used and all(array() is None for array in used):
            del self._used[number]
            self.connection.send(BlocksFree(number))

    def _lost(self) -> None:
        """The process has ended."""
        for task in self.calls.values():
            task.cancel()
        if not self._listening.done():
            self._listening.set_result("a front end ended before it listened; see its messages above")
        self._ended.set()
        self._pool.ended(self)


def _reserve(host: str, port: int) -> socket.socket:
    """Bind a socket to a port, which is free: others can bind to it too, if they ask for that."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as alone:  # not shared, so that a port in use is an error
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind((host, port))
        shared = socket.socket(family)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        shared.bind((host, port))
    except OSError as error:
        raise Error(f"gRPC cannot listen on {bracketed(host)}:{port}: {reason(error)}") from None
    return shared
