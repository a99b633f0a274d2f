"""A gRPC port or Unix socket: handlers of services, with health and reflection.

Which calls are admitted, and how the server stops without losing one, is in `admission`.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from typing import Any

import grpc
from grpc_health.v1 import health_pb2_grpc

from tfport.errors import Error
from tfport.formats.files import reason
from tfport.operating_system import use_address
from tfport.serve.grpc import health
from tfport.serve.grpc.admission import AdmissionInterceptor, TokenInterceptor
from tfport.serve.grpc.health import HealthService
from tfport.serve.grpc.options import GrpcOptions
from tfport.serve.grpc.reflection import DescribeFile, reflection_handlers
from tfport.words import bracketed

MOST_STREAMS = 1000
"""Maximum number of streams and probes, in addition to the calls."""
MOST_PENDING = 2**14
"""Maximum number of calls that gRPC's library has received and Python has not begun.

It cancels further ones, whoever sent them; by default it begins at 1,000 to cancel some at random. Each takes
about 15 kB, also if its client has given it up."""
LONGEST_WAIT = 24 * 3600
"""Seconds that a call may wait before it begins: deadlines of clients are shorter."""


class GrpcListener:
    """Listens with some handlers; `files` are for reflection."""

    def __init__(
        self,
        handlers: Sequence[grpc.ServiceRpcHandler],
        health_service: HealthService,
        options: GrpcOptions,
        files: Sequence[DescribeFile] = (),
    ) -> None:
        self._handlers, self._options, self._files = handlers, options, files
        self._health = health_service
        self._admission = AdmissionInterceptor(options.most_calls, options.observers)
        self._port = 0
        self._server: Any = None

    async def start(self) -> int:
        """Listen; return the TCP port, or 0 if there is none."""
        options = self._options
        if options.port is None and not options.socket_path:
            raise Error("gRPC needs a port or a socket path")
        self._server = server = self._create_server()
        try:
            if options.port is not None:
                self._port = self._listen(f"{bracketed(options.host)}:{options.port}")
            if options.socket_path:
                self._listen(f"unix:{options.socket_path}")
            await server.start()
        except BaseException:
            await server.stop(None)
            raise
        return self._port

    async def stop(self, grace: float = 0.0) -> None:
        """Answer the calls that were received, within `grace` seconds; reject later ones."""
        self._health.stop()
        if self._server is not None:
            await self._admission.finish(grace)
            await close_connections(self._port, self._options.socket_path, self._admission)
            await self._server.stop(None)

    @property
    def calls_in_progress(self) -> int:
        """Number of calls that were received and not answered, without streams and health checks."""
        return self._admission.calls_in_progress

    def _create_server(self) -> Any:
        options = self._options
        handlers = list(self._handlers)
        names = [handler.service_name() for handler in handlers]
        if options.health:
            names.append(health.NAME)
        if options.reflection:
            handlers.extend(reflection_handlers(names, self._files))
        tokens = [TokenInterceptor(options.tokens, options.observers)] if options.tokens is not None else []
        server = grpc.aio.server(
            handlers=handlers,
            interceptors=[self._admission, *tokens],
            options=list(_arguments(options).items()),
            maximum_concurrent_rpcs=options.most_calls + MOST_STREAMS,
        )
        if options.health:
            health_pb2_grpc.add_HealthServicer_to_server(self._health, server)
        return server

    def _listen(self, address: str) -> int:
        tls = self._options.tls
        credentials = tls.credentials() if tls else None
        try:
            if credentials:
                port: int = self._server.add_secure_port(address, credentials)
            else:
                port = self._server.add_insecure_port(address)
        except RuntimeError:
            port = 0
        if not port:
            certificate = " with this certificate and key" if tls else ""
            raise Error(f"gRPC cannot listen on {address}{certificate}{_bind_error(self._options, address)}")
        return port


def _arguments(options: GrpcOptions) -> dict[str, int | str]:
    """Return gRPC's own options; the size of responses is limited by clients only."""
    return {
        "grpc.max_receive_message_length": options.largest_message,
        "grpc.max_send_message_length": -1,
        "grpc.max_allowed_incoming_connections": options.most_connections,
        "grpc.server_handshake_timeout_ms": round(options.handshake_seconds * 1e3),
        "grpc.max_connection_idle_ms": round(options.idle_seconds * 1e3),
        "grpc.max_concurrent_streams": options.most_calls + MOST_STREAMS,
        "grpc.server.max_pending_requests": MOST_PENDING,
        "grpc.server.max_pending_requests_hard_limit": MOST_PENDING,
        # clients that have disappeared: their calls end when they do not answer a ping
        "grpc.keepalive_time_ms": 60_000,
        "grpc.keepalive_timeout_ms": 20_000,
        # gRPC would cancel calls that a busy server has not begun after 30 seconds, whatever their deadline
        "grpc.server_max_unrequested_time_in_server": LONGEST_WAIT,
        "grpc.so_reuseport": 0,  # a port that is in use is an error, not shared with the other server
        **options.channel_arguments,
    }


def _bind_error(options: GrpcOptions, address: str) -> str:
    """Return the system's error for a port, which gRPC does not report."""
    if address.startswith("unix:") or not options.port:
        return ""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as probe:
        use_address(probe)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            return f": {reason(error)}"
    return ""


# Sockets of a gRPC server

_OPEN_FILES = "/proc/self/fd"


async def close_connections(port: int, path: str, admission: AdmissionInterceptor) -> None:
    """Close every socket whose local address is a TCP port or the path of a Unix socket.

    gRPC does not give access to its sockets, so they are searched among the open files of the process. The
    last refusals go out together with the end of each connection, so that its client does not call between
    them. Clients see a closed connection, which is UNAVAILABLE for calls that were not answered.
    """
    with ExitStack() as opened:
        for own in _sockets_at(port, path, opened):  # those that listen first, so that no connection is added
            if _is_listening(own):
                _shut_down(own)
        connections = [own for own in _sockets_at(port, path, opened) if not _is_listening(own)]
        if connections:
            await admission.until_no_more_calls(lambda: not any(map(_has_unread_bytes, connections)))
        for own in connections:
            with suppress(OSError):  # a Unix socket sends everything at once
                own.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        await admission.refuse_late()
        for own in connections:
            _shut_down(own)


def _has_unread_bytes(own: socket.socket) -> bool:
    with suppress(OSError):  # nothing is there
        return bool(own.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT))
    return False


def _shut_down(own: socket.socket) -> None:
    with suppress(OSError):  # the client was faster
        own.shutdown(socket.SHUT_RDWR)


def _sockets_at(port: int, path: str, opened: ExitStack) -> list[socket.socket]:
    """Return duplicates of the process's sockets with an address, which share the connection.

    Duplicates of others are closed at once: who waits for the end of such a connection would not see it.
    """
    matching = []
    for name in os.listdir(_OPEN_FILES) if os.path.isdir(_OPEN_FILES) else ():  # Linux has it
        with suppress(OSError):  # not a socket, or closed meanwhile
            if not os.readlink(f"{_OPEN_FILES}/{name}").startswith("socket:"):
                continue
            own = socket.socket(fileno=os.dup(int(name)))
            if _is_at(own, port, path):
                matching.append(opened.enter_context(own))
            else:
                own.close()
    return matching


def _is_at(own: socket.socket, port: int, path: str) -> bool:
    with suppress(OSError):
        if own.family == getattr(socket, "AF_UNIX", None):
            return bool(path) and own.getsockname() == path
        if own.family in (socket.AF_INET, socket.AF_INET6) and own.type == socket.SOCK_STREAM:
            return bool(port) and own.getsockname()[1] == port
    return False


def _is_listening(own: socket.socket) -> bool:
    with suppress(OSError):
        return bool(own.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return False
