"""The open connections of an HTTP port: how many there may be, and how long they may keep the server waiting.

A client that sends half a request, or nothing, costs a connection and nothing else. When there are too
many, the one that has kept the server waiting longest is closed for each new one; a connection whose
request is being answered is never closed. If all are being answered, a few more are accepted for probes.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable
from typing import Any, Protocol

from aiohttp import web
from aiohttp.http import RawRequestMessage

from tfport.serve.request_metrics import HEADER_TIMEOUT, INVALID_HTTP, TOO_MANY_CONNECTIONS
from tfport.serve.rest.answer_turns import AnswerTurns
from tfport.serve.rest.request_head import RequestFraming, RequestHead
from tfport.startup.dataclass import dataclass

SERVER_NAME = "tfport"
"""The `Server` header, without versions."""
_TIMEOUT = b"HTTP/1.1 408 Request Timeout\r\nServer: tfport\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
HELD_SECONDS = 0.05
"""How long the start of a request is kept, for clients that send head and body one after the other."""
_ReadySelector = getattr(selectors, "PollSelector", selectors.SelectSelector)  # needs no file descriptor
Refused = Callable[[str, str], None]
"""Reports a refusal: the reason and the address of the client."""


class ShortAnswers(Protocol):
    """Answers requests without aiohttp; implemented by `instant_answers.InstantAnswers`."""

    def may_answer(self, head: RequestHead) -> bool:
        """Whether a request is worth waiting for the rest of its body."""
        ...

    def answer(self, head: RequestHead, body: bytes) -> bytes | None:
        """Return the response to a request; None if aiohttp must handle it."""
        ...


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits of one port."""

    most: int = 10_000
    """Maximum number of connections."""
    reserved: int = 16
    """Further connections, which are only for probes."""
    header_seconds: float = 10.0
    """Maximum time for a TLS handshake, and for a header from its first byte or the start of a connection."""


class HttpConnection(web.RequestHandler):
    """A connection that tells its table whether it is waiting for its client."""

    __slots__ = (
        "_expects_header", "_framing", "_has_begun", "_header_since", "_held", "_held_head",
        "_release_handle", "_table", "for_probes", "opening", "peer",
    )  # fmt: skip

    def __init__(self, table: ConnectionTable, peer: str, **more: Any) -> None:
        super().__init__(table.server, loop=asyncio.get_running_loop(), **more)
        self._table, self.peer = table, peer
        self.for_probes = self._has_begun = False
        self._expects_header = True
        self.opening: asyncio.Task[None] | None = None
        """Opens the connection, with its TLS handshake."""
        self._header_since: float | None = self._loop.time()
        self._framing, self._held = RequestFraming(), b""
        self._held_head: RequestHead | None = None
        self._release_handle: asyncio.Handle | None = None

    def begin_request(self) -> None:
        """Note that a request is being answered."""
        self._end_header()
        self._table.set_busy(self)

    def _end_header(self) -> None:
        """Note that the header of a request is complete."""
        self._header_since = None
        self._expects_header = self._has_begun = False

    def wait_for_body(self) -> None:
        """Note that the client must send more of its body."""
        self._table.set_waiting(self)

    def end_body(self) -> None:
        """Note that the body is complete."""
        self._table.set_busy(self)

    def end_request(self) -> None:
        """Note that it is the client's turn: to read the response, or to ask again."""
        self._expects_header = True
        self._table.set_waiting(self)

    def header_is_late(self, seconds: float) -> bool:
        """Whether the client has taken too long; not if the server has not read what the client has sent."""
        since = self._header_since
        if self.transport is None or since is None or self._loop.time() - since <= seconds:
            return False
        descriptor = self.transport.get_extra_info("socket").fileno()
        if descriptor < 0:  # closed already
            return True
        with _ReadySelector() as selector:
            selector.register(descriptor, selectors.EVENT_READ)
            return not selector.select(0)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._header_since = self._loop.time()
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if not data:  # aiohttp reads on
            super().data_received(data)
            return
        if self._held:
            data = self._taken() + data
        if not self._is_answered(data):
            self._pass_on(data)

    def _pass_on(self, data: bytes) -> None:
        """Let aiohttp handle data."""
        if self._expects_header:
            self._has_begun = True
            if self._header_since is None:
                self._header_since = self._loop.time()
        super().data_received(data)
        # now and not when aiohttp begins: a busy server may take long until then
        if self._expects_header and any(isinstance(head, RawRequestMessage) for head, _ in self._messages):
            self._end_header()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._table.remove(self)
        self._taken()
        super().connection_lost(exc)

    def eof_received(self) -> None:
        self._release()
        super().eof_received()

    def _is_answered(self, data: bytes) -> bool:
        """Answer data that is a request of a short call, or keep it.

        It is kept until the rest of its body is there, aiohttp has ended the request before it, and it is its
        turn.
        """
        head, missing = self._framing.follow(data)
        answers = self._table.answers
        if head is None or answers is None:
            return False
        is_idle = self._is_idle()
        if is_idle and not missing and not self._table.turns.is_over():
            return self._answer(head, data)
        if not (is_idle or self._is_ending()) or not answers.may_answer(head):
            return False
        self._held = data
        if missing:
            self._framing.repeat()
            self._release_handle = self._loop.call_later(HELD_SECONDS, self._release)
            return True
        self._held_head = head
        if is_idle:
            self._table.set_busy(self)
            self._table.turns.postpone(self)
        else:
            self._release_handle = self._loop.call_soon(self.answer_held)
        return True

    def _answer(self, head: RequestHead, data: bytes) -> bool:
        """Answer a whole request; return whether it was answered."""
        answers = self._table.answers
        response = answers.answer(head, data[len(data) - head.length :]) if answers is not None else None
        if response is None or self.transport is None:
            return False
        self._table.turns.note_answer()
        self._header_since, self._has_begun = None, False
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        self._table.set_waiting(self)
        self.transport.write(response)
        return True

    def _is_idle(self) -> bool:
        """Whether aiohttp waits for the next request, and the client has read the last answer."""
        return (
            self._waiter is not None
            and not self._messages
            and self._keepalive_handle is not None
            and self.transport is not None
            and not self.transport.get_write_buffer_size()
            and not self.for_probes
        )

    def _is_ending(self) -> bool:
        """Whether aiohttp has answered the last request, and will soon wait for the next one."""
        return self._waiter is None and self._current_request is None and not self._messages

    def answer_held(self) -> None:
        """Answer what was kept while aiohttp ended another request, or others were answered."""
        head, data = self._held_head, self._taken()
        if head is not None and not (self._is_idle() and self._answer(head, data)):
            self._pass_on(data)

    def _release(self) -> None:
        """Let aiohttp wait for the rest of a body."""
        if data := self._taken():
            self._framing.follow(data)
            self._pass_on(data)

    def _taken(self) -> bytes:
        """Return what is kept, and keep it no longer."""
        data, self._held, self._held_head = self._held, b"", None
        if self._release_handle is not None:
            self._release_handle.cancel()
            self._release_handle = None
        return data

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Return the response to a request that is not valid HTTP."""
        response = super().handle_error(request, status, exc, message)
        response.headers["Server"] = SERVER_NAME
        if status == 400:
            self._table.refused(INVALID_HTTP, self.peer)
        return response

    def time_out(self) -> None:
        """Close the connection because its header is late; a client that has begun a request is told."""
        self._table.remove(self)
        if self._has_begun and self.transport is not None:
            self.transport.write(_TIMEOUT)
        self.force_close()

    def cut_off(self) -> None:
        """Close the connection now."""
        self._table.remove(self)
        if self.transport is not None:
            self.transport.abort()
        elif self.opening is not None:
            self.opening.cancel()


def connection_of(request: web.BaseRequest) -> HttpConnection:
    """Return the connection of a request."""
    connection = request.protocol
    assert isinstance(connection, HttpConnection)
    return connection


class ConnectionTable:
    """All connections of a port."""

    def __init__(self, server: web.Server, limits: ConnectionLimits, refused: Refused) -> None:
        self.server, self.limits, self.refused = server, limits, refused
        self.answers: ShortAnswers | None = None
        """Answers short requests without aiohttp."""
        self.turns = AnswerTurns(asyncio.get_running_loop())
        self._connections: set[HttpConnection] = set()
        self._waiting: dict[HttpConnection, None] = {}  # those that wait for their client, longest first

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: HttpConnection) -> bool:
        """Add a connection, if necessary instead of another one; return whether there is room for it."""
        if len(self) >= self.limits.most:
            self.make_room()
        if len(self) >= self.limits.most + self.limits.reserved:
            self.refused(TOO_MANY_CONNECTIONS, connection.peer)
            return False
        connection.for_probes = len(self) >= self.limits.most
        self._connections.add(connection)
        self._waiting[connection] = None
        return True

    def make_room(self) -> None:
        """Close the connection that has kept the server waiting longest."""
        longest = next(iter(self._waiting), None)
        if longest is not None:
            self.refused(TOO_MANY_CONNECTIONS, longest.peer)
            longest.cut_off()

    def set_busy(self, connection: HttpConnection) -> None:
        """Note that a connection has a request to answer."""
        self._waiting.pop(connection, None)

    def set_waiting(self, connection: HttpConnection) -> None:
        """Note that a connection waits for its client, from now on."""
        if connection in self._connections:
            self._waiting.pop(connection, None)
            self._waiting[connection] = None

    def close_late(self) -> None:
        """Close the connections whose header is late."""
        for connection in list(self._connections):
            if connection.header_is_late(self.limits.header_seconds):
                self.refused(HEADER_TIMEOUT, connection.peer)
                connection.time_out()

    def remove(self, connection: HttpConnection) -> None:
        self._connections.discard(connection)
        self._waiting.pop(connection, None)
