"""Which gRPC calls are admitted: within a limit, until the server stops, with a token if one is needed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from time import monotonic
from typing import Any

import grpc

from tfport.serve.auth_tokens import AuthTokens
from tfport.serve.event_loop import LONGEST, until_quiet
from tfport.serve.grpc.health import NAME as HEALTH
from tfport.serve.grpc.observers import Observers
from tfport.serve.request_metrics import STOPPING, UNKNOWN_METHOD, reason_of
from tfport.serve.status import StatusCode

LATE = "the server is stopping"
CUT_OFF = "the server has stopped before the call ended"
UNREAD_SECONDS = 10.0
"""How long a client may take to read its answer if other calls need its place."""


class AdmissionInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Admits calls of known methods, within a limit, until the server stops.

    A client that does not read its answer, because it never opens HTTP/2's flow control window, keeps its
    place only while no other call needs it.

    Stopping must not lose a call: what was received is answered, and what comes later is refused. gRPC's own
    shutdown cancels every call that its library has received but not yet passed to Python, and clients do not
    retry CANCELLED. So the server is stopped only after three steps:

    1. calls are answered as usual until no more arrive, or for at most a second;
    2. new calls are refused with UNAVAILABLE, while those in progress are answered, or cut off when their
       time is over;
    3. if calls still arrive, they wait, until there are no more, as in the first step: a client that calls
       again whenever it is refused has a call that waits;
    4. `listener.close_connections` refuses these and closes the sockets, at once, so that no client calls in
       between and the shutdown has nothing left to cancel.
    """

    def __init__(self, most_calls: int, observers: Observers) -> None:
        self._most, self._observers = most_calls, observers
        self._calls: set[asyncio.Task[Any]] = set()
        self._answered: dict[asyncio.Task[Any], float] = {}
        """Since when calls wait for their client to read the answer, longest first."""
        self._handlers: dict[str, tuple[Any, Any]] = {}
        self._begun = 0
        self._refuses = self._cuts_off = False
        self._idle = asyncio.Event()
        self._late: set[asyncio.Task[Any]] = set()
        self._refuses_late = asyncio.Event()
        self._refuses_late.set()

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return the handler of a call, or one that refuses it."""
        self._begun += 1
        handler, method = await continuation(details), details.method
        if handler is None:
            return self._refusal(method, StatusCode.UNIMPLEMENTED, "Method not found!", UNKNOWN_METHOD)
        # streams (health, reflection) have no end to wait for, and probes must be answered
        if handler.response_streaming or method.startswith(f"/{HEALTH}/"):
            return handler
        if self._refuses:
            _track(self._late, self._late.discard)
            return self._refusal(method, StatusCode.UNAVAILABLE, LATE, STOPPING)
        if len(self._calls) >= self._most and not self._make_room():
            message = f"Too many requests: {self._most} are already in progress"
            return self._refusal(method, StatusCode.RESOURCE_EXHAUSTED, message)
        _track(self._calls, self._ended)
        return self._interruptible(method, handler)

    @property
    def calls_in_progress(self) -> int:
        return len(self._calls)

    async def finish(self, grace: float) -> None:
        """Answer the calls that were received, for at most `grace` seconds, and refuse further ones."""
        try:
            async with asyncio.timeout(grace):
                await until_quiet(lambda: self._begun)
                self._refuses = True
                while self._calls:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            self._refuses = self._cuts_off = True
            for task in self._calls:
                task.cancel()
            if self._calls:
                await asyncio.wait(self._calls, timeout=LONGEST)
        self._refuses_late.clear()

    async def until_no_more_calls(self, nothing_waits: Callable[[], bool]) -> None:
        """Wait for the last calls, which wait to be refused; `nothing_waits`: the system has none either."""
        await until_quiet(lambda: self._begun, nothing_waits)

    async def refuse_late(self) -> None:
        """Refuse the calls that wait; return when all clients have their status."""
        self._refuses_late.set()
        if self._late:
            await asyncio.wait(self._late, timeout=LONGEST)

    def _interruptible(self, method: str, handler: Any) -> Any:
        """Return the handler of a method whose calls can be cut off."""
        known = self._handlers.get(method)
        if known is not None and known[0] is handler:
            return known[1]
        if not handler.unary_unary:  # refused by another interceptor
            return handler

        async def answer(data: bytes, context: Any) -> bytes:
            try:
                answered: bytes = await handler.unary_unary(data, context)
                self._answered[asyncio.current_task()] = monotonic()  # type: ignore[index]
                return answered
            except asyncio.CancelledError:
                if self._cuts_off:
                    await context.abort(grpc.StatusCode.UNAVAILABLE, CUT_OFF)
                raise

        interruptible = grpc.unary_unary_rpc_method_handler(answer)
        self._handlers[method] = handler, interruptible
        return interruptible

    def _make_room(self) -> bool:
        """End the call that has waited longest for its client to read the answer, if it waits too long."""
        task, since = next(iter(self._answered.items()), (None, 0.0))
        if task is None or monotonic() - since <= UNREAD_SECONDS:
            return False
        task.cancel()
        self._ended(task)
        return True

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._calls.discard(task)
        self._answered.pop(task, None)
        self._idle.set()

    def _refusal(self, method: str, code: StatusCode, message: str, reason: str = "") -> Any:
        return refusal(
            code, message, method=method, observers=self._observers, reason=reason, after=self._refuses_late
        )


def _track(tasks: set[asyncio.Task[Any]], ended: Callable[[asyncio.Task[Any]], None]) -> None:
    """Add the task of a call, which ends when its status has been sent or its client has left."""
    task = asyncio.current_task()
    assert task is not None
    tasks.add(task)
    task.add_done_callback(ended)


_INFERENCE = "/inference.GRPCInferenceService"
WITHOUT_TOKEN = (f"/{HEALTH}/", f"{_INFERENCE}/ServerLive", f"{_INFERENCE}/ServerReady")
"""Health checks, including those of the Open Inference Protocol: probes have no token."""


class TokenInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    """Rejects calls without a valid bearer token in their metadata before their message is read."""

    def __init__(self, tokens: AuthTokens, observers: Observers) -> None:
        self._tokens, self._observers = tokens, observers

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        """Return the handler of a call, or one that rejects it."""
        handler = await continuation(details)
        if handler is None or details.method.startswith(WITHOUT_TOKEN):
            return handler
        headers = [value for key, value in details.invocation_metadata if key == "authorization"]
        if any(isinstance(value, str) and self._tokens.allow(value) for value in headers):
            return handler
        message = "a valid bearer token is required"
        return refusal(StatusCode.UNAUTHENTICATED, message, method=details.method, observers=self._observers)


def refusal(
    code: StatusCode,
    message: str,
    *,
    method: str,
    observers: Observers,
    reason: str = "",
    after: asyncio.Event | None = None,
) -> grpc.RpcMethodHandler:
    """Return a handler that refuses a call before its message is read; the reason is the code by default.

    `after`: not before this event.
    """

    async def refuse(requests: AsyncIterator[Any], context: Any) -> None:
        observers.refused(method, reason or reason_of(code), context.peer())
        if after is not None:
            await after.wait()
        await context.abort(getattr(grpc.StatusCode, code.name), message)

    return grpc.stream_unary_rpc_method_handler(refuse)
