"""Listen on an HTTP port for an application, within limits of connections and time.

    listener = HttpListener(app, "127.0.0.1", 8501, limits=ConnectionLimits())
    port = await listener.start()
    listener.stop_listening()
    await listener.close()

aiohttp has no limit for connections and none for the time of a header, so connections are accepted here.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from typing import Any

from aiohttp import web

from tfport.errors import Error
from tfport.formats.files import reason
from tfport.operating_system import use_address
from tfport.serve.request_metrics import NO_FILE_DESCRIPTOR, TLS_HANDSHAKE
from tfport.serve.rest.connections import (
    ConnectionLimits,
    ConnectionTable,
    HttpConnection,
    Refused,
    ShortAnswers,
)
from tfport.words import bracketed

BACKLOG = 4096
"""Connections that the system keeps until they are accepted, as many as gRPC's library asks for.

Beyond them, a client believes to be connected, and waits until it has sent its request several times."""
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_AT_A_TIME = 16
_RETRY_SECONDS = 0.1
_LATE_INTERVALS = 4  # how often lateness is checked while a header may take


class HttpListener:
    """Sockets that accept the connections of an application."""

    def __init__(
        self,
        app: web.Application,
        host: str,
        port: int,
        *,
        limits: ConnectionLimits,
        refused: Refused,
        answers: ShortAnswers | None = None,
        tls: ssl.SSLContext | None = None,
        name: str = "REST",
        **options: Any,
    ) -> None:
        """`answers` answers short requests without aiohttp. `options` are those of aiohttp's
        `RequestHandler`, `name` is for error messages."""
        self._host, self._port, self._name = host, port, name
        self._tls, self._limits, self._refused, self._options = tls, limits, refused, options
        self._answers = answers
        # a client that disconnects stops its run
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0, handler_cancellation=True)
        self._sockets: list[socket.socket] = []
        self._opening: set[asyncio.Task[None]] = set()
        self._closing_late: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self._table: ConnectionTable | None = None

    async def start(self) -> int:
        """Listen; return the port."""
        await self._runner.setup()
        try:
            self._sockets = await _listening_sockets(self._host, self._port)
        except OSError as error:
            await self._runner.cleanup()
            where = f"{bracketed(self._host)}:{self._port}"
            raise Error(f"{self._name} cannot listen on {where}: {reason(error)}") from None
        assert self._runner.server is not None
        self._table = ConnectionTable(self._runner.server, self._limits, self._refused)
        self._table.answers = self._answers
        for listener in self._sockets:
            self._loop.add_reader(listener, self._accept, listener)
        self._closing_late = asyncio.ensure_future(self._close_late())
        port: int = self._sockets[0].getsockname()[1]
        return port

    def stop_listening(self) -> None:
        """Accept what the system has already accepted, and nothing more; aiohttp answers what still comes."""
        if self._table is not None:
            self._table.answers = None
        for listener in self._sockets:
            self._loop.remove_reader(listener)
            while self._accept(listener):
                pass
            listener.close()
        self._sockets = []

    async def close(self) -> None:
        """Close all connections."""
        self.stop_listening()
        tasks = [*self._opening, *([self._closing_late] if self._closing_late else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._runner.cleanup()

    def _accept(self, listener: socket.socket) -> int:
        """Accept some connections; return how many."""
        for count in range(_AT_A_TIME):
            try:
                accepted, _ = listener.accept()
            except OSError as error:
                if error.errno in _EXHAUSTED:
                    self._pause(listener)
                return count  # else there are no more, or the client has left already
            self._connect(accepted)
        return _AT_A_TIME

    def _pause(self, listener: socket.socket) -> None:
        """Free a file descriptor, and try again later."""
        self._refused(NO_FILE_DESCRIPTOR, "")
        assert self._table is not None
        self._table.make_room()
        self._loop.remove_reader(listener)
        self._loop.call_later(_RETRY_SECONDS, self._resume, listener)

    def _resume(self, listener: socket.socket) -> None:
        if listener in self._sockets:
            self._loop.add_reader(listener, self._accept, listener)

    def _connect(self, accepted: socket.socket) -> None:
        assert self._table is not None
        connection = HttpConnection(self._table, _peer(accepted), access_log=None, **self._options)
        if not self._table.add(connection):
            accepted.close()
            return
        task = connection.opening = asyncio.ensure_future(self._open(connection, accepted))
        self._opening.add(task)

        def opened(task: asyncio.Task[None]) -> None:
            self._opening.discard(task)
            connection.opening = None
            if task.cancelled():
                accepted.close()

        task.add_done_callback(opened)

    async def _open(self, connection: HttpConnection, accepted: socket.socket) -> None:
        timeout = self._limits.header_seconds if self._tls else None
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection, accepted, ssl=self._tls, ssl_handshake_timeout=timeout
            )
        except OSError as error:
            if isinstance(error, ssl.SSLError | ConnectionAbortedError):  # invalid, or too late
                self._refused(TLS_HANDSHAKE, connection.peer)
            accepted.close()
            connection.cut_off()

    async def _close_late(self) -> None:
        assert self._table is not None
        while True:
            await asyncio.sleep(self._limits.header_seconds / _LATE_INTERVALS)
            self._table.close_late()


async def _listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host, all with the same port."""
    infos = await asyncio.get_running_loop().getaddrinfo(
        host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, address in sorted({(info[0], info[4]) for info in infos}):
            sockets.append(listener := socket.socket(family, socket.SOCK_STREAM))
            listener.setblocking(False)
            use_address(listener)
            if family == socket.AF_INET6:
                listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            listener.bind((address[0], port, *address[2:]))
            listener.listen(BACKLOG)
            port = listener.getsockname()[1]  # Windows has none before
    except OSError:
        for listener in sockets:
            listener.close()
        raise
    return sockets


def _peer(accepted: socket.socket) -> str:
    try:
        host, port = accepted.getpeername()[:2]
    except OSError:  # the client has left already
        return ""
    return f"{bracketed(host)}:{port}"
