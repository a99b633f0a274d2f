"""A front end: it reads gRPC calls, passes them on to the server and sends its answers.

It knows no models: the server checks and answers every call. Only tokens, limits and reflection are handled
here, as in a server without front ends.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import Any

import grpc
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from tfport.errors import Error
from tfport.runtime.freed_memory import keep_freed_memory
from tfport.serve.event_loop import new_runner
from tfport.serve.file_limit import raise_file_limit
from tfport.serve.front_ends.alike_requests import LARGE, AlikeRequest, AlikeRequests, without_contents
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
from tfport.serve.front_ends.request_groups import RequestGroups
from tfport.serve.front_ends.shared_blocks import BlockPlace, SharedBlocks
from tfport.serve.grpc.health import NAME as HEALTH
from tfport.serve.grpc.health import HealthService
from tfport.serve.grpc.listener import GrpcListener
from tfport.serve.grpc.observers import Observers
from tfport.serve.grpc.service import Caller, abort, caller_of
from tfport.serve.monitoring.metrics import Metrics
from tfport.serve.status import StatusCode
from tfport.startup.dataclass import replace

NOBODY = Caller({}, "")
PREDICT = ("tensorflow.serving.PredictionService", "Predict")


class FrontEnd:
    """One process that listens on the server's port."""

    def __init__(self, blocks: SharedBlocks) -> None:
        self.connection = MessageConnection(self._received, self._lost)
        self.ended = asyncio.Event()
        self._blocks = blocks
        self._ids = count()
        self._waiting: dict[int, asyncio.Future[CallAnswer]] = {}
        self._places: dict[int, Iterable[BlockPlace]] = {}
        self._listener: GrpcListener | None = None
        self._groups: RequestGroups | None = None
        self._alike = AlikeRequests()
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, service: str, method: str, data: bytes, caller: Caller = NOBODY) -> CallAnswer:
        """Ask the server; if the caller is cancelled, the server is told."""
        taken = without_contents(data) if (service, method) == PREDICT and len(data) >= LARGE else None
        view = memoryview(data)
        places = self._put({name: [view[place]] for name, place in taken[1].items()}) if taken else None
        if not taken or not places:
            return await self._call(service, method, data, {}, caller)
        return await self._call(service, method, taken[0].SerializeToString(), places, caller)

    async def _ask_alone(self, request: AlikeRequest) -> CallAnswer:
        return await self._ask_together([request], request.kind)

    async def _ask_together(self, requests: Sequence[AlikeRequest], message: bytes) -> CallAnswer:
        """Ask for requests that are alike; their contents go into shared memory, one after the other."""
        first = requests[0]
        places = self._put({name: [r.contents[name] for r in requests] for name in first.contents})
        if places is not None:
            return await self._call(*PREDICT, message, places, first.caller, len(requests))
        if len(requests) > 1:
            return CallAnswer(0, StatusCode.RESOURCE_EXHAUSTED.number, "no room for a group")
        return await self._call(*PREDICT, first.data, {}, first.caller)

    def _put(self, contents: Mapping[str, Sequence[memoryview]]) -> dict[str, BlockPlace] | None:
        """Put the parts of each input into a block; None if there is no room for all of them."""
        places: dict[str, BlockPlace] = {}
        for name, parts in contents.items():
            place = self._blocks.put(*parts)
            if place is None:
                for other in places.values():
                    self._blocks.free(other)
                return None
            places[name] = place
        return places

    async def _call(
        self,
        service: str,
        method: str,
        data: bytes,
        places: dict[str, BlockPlace],
        caller: Caller,
        requests: int = 1,
    ) -> CallAnswer:
        number = next(self._ids)
        if places:
            self._places[number] = places.values()
        answer: asyncio.Future[CallAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        where = {name: (place.offset, place.size) for name, place in places.items()}
        self.connection.send(
            FrontEndCall(number, service, method, data, where, dict(caller.headers), caller.peer, requests)
        )
        try:
            return await answer
        except asyncio.CancelledError:
            self.connection.send(CallCancelled(number))
            raise
        finally:
            del self._waiting[number]

    def _received(self, message: object) -> None:
        match message:
            case CallAnswer(id=number):
                waiting = self._waiting.get(number)
                if waiting is not None and not waiting.done():
                    waiting.set_result(message)
            case BlocksFree(id=number):
                for place in self._places.pop(number, ()):
                    self._blocks.free(place)
            case StartListening():
                self._run(self._start(message))
            case StopListening(grace=grace):
                self._run(self._stop(grace))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _lost(self) -> None:
        """The server is gone: nobody can answer."""
        self.ended.set()

    async def _start(self, start: StartListening) -> None:
        options = replace(start.options, observers=Observers(_ReportedRefusals(self.connection)))
        if start.groups:
            self._groups = RequestGroups(
                self._ask_alone,
                self._ask_together,
                most_rows=start.groups,
                tensor_content=options.tensor_content,
            )
        handlers = [self._handler(name, methods) for name, methods in start.services.items()]
        files = [partial(FileDescriptorProto.FromString, file) for file in start.files]
        self._listener = GrpcListener(handlers, HealthService(_ServerHealth(self)), options, files)
        try:
            await self._listener.start()
            self.connection.send(Listening())
        except Error as error:
            self.connection.send(Listening(str(error)))

    async def _stop(self, grace: float) -> None:
        if self._listener is not None:
            await self._listener.stop(grace)
        self.connection.close()

    def _handler(self, service: str, methods: Iterable[str]) -> grpc.ServiceRpcHandler:
        return grpc.method_handlers_generic_handler(
            service,
            {name: grpc.unary_unary_rpc_method_handler(self._answering(service, name)) for name in methods},
        )

    def _answering(self, service: str, method: str) -> Callable[[bytes, Any], Awaitable[bytes]]:
        async def answer(data: bytes, context: Any) -> bytes:
            left = context.time_remaining()
            if left is not None and left <= 0:
                await abort(context, StatusCode.DEADLINE_EXCEEDED.number, "Deadline Exceeded")
            caller = caller_of(context)
            alike = (service, method) == PREDICT and self._groups is not None
            request = self._alike.read(data, caller) if alike else None
            if request is not None and self._groups is not None:
                answered = await self._groups.answer(request)
            else:
                answered = await self.ask(service, method, data, caller)
            if answered.status:
                await abort(context, answered.status, str(answered.content))
            assert isinstance(answered.content, bytes)
            return answered.content

        return answer


class _ServerHealth:
    """The states that the server knows."""

    def __init__(self, front_end: FrontEnd) -> None:
        self._front_end = front_end

    async def state(self, name: str) -> int:
        answer = await self._front_end.ask(HEALTH, STATE, name.encode())
        return int(answer.content)

    async def names(self) -> list[str]:
        answer = await self._front_end.ask(HEALTH, NAMES, b"")
        return str(answer.content).split("\n")


class _ReportedRefusals(Metrics):
    """Tells the server what this front end refused."""

    def __init__(self, connection: MessageConnection) -> None:
        super().__init__(process=False)
        self._connection = connection

    def refused(self, entrypoint: str, reason: str, peer: str, **fields: str) -> None:
        self._connection.send(CallRefused(entrypoint, reason, peer, fields))


# The process of a front end: it listens until the server tells it to stop, or is gone

IGNORED = (signal.SIGINT, signal.SIGTERM)
"""Signals for the server, which tells its front ends to stop."""


def main(connection: int, memory: int) -> None:
    """Serve as the front end of a server: `connection` and `memory` are file descriptors."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    raise_file_limit()
    keep_freed_memory()
    gc.freeze()
    with new_runner() as runner:
        runner.run(_serve(connection, memory))
    os._exit(0)  # nothing is left to do, and threads of gRPC may be slow


async def _serve(connection: int, memory: int) -> None:
    front_end = FrontEnd(SharedBlocks(memory))
    loop = asyncio.get_running_loop()
    await loop.create_connection(lambda: front_end.connection, sock=socket.socket(fileno=connection))
    await front_end.ended.wait()
