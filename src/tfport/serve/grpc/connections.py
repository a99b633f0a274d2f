"""Close the listening sockets and the connections of a gRPC server.

gRPC does not give access to its sockets, so they are found by their local address among the open files of
the process. Clients see a closed connection, which is UNAVAILABLE for calls that were not answered.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress

_OPEN_FILES = "/proc/self/fd"


def close_connections(port: int, path: str = "") -> None:
    """Close every socket whose local address is a TCP port or the path of a Unix socket."""
    with ExitStack() as opened:
        for listening in (True, False):  # listening sockets first, so that no connection is added
            for own in _sockets(opened):
                if _is_at(own, port, path) and _is_listening(own) == listening:
                    with suppress(OSError):  # the client was faster
                        own.shutdown(socket.SHUT_RDWR)


def _sockets(opened: ExitStack) -> Iterator[socket.socket]:
    """Yield duplicates of the process's sockets; they share the connection, not the file descriptor."""
    for name in os.listdir(_OPEN_FILES):
        with suppress(OSError):  # not a socket, or closed meanwhile
            if os.readlink(f"{_OPEN_FILES}/{name}").startswith("socket:"):
                yield opened.enter_context(socket.socket(fileno=os.dup(int(name))))


def _is_at(own: socket.socket, port: int, path: str) -> bool:
    with suppress(OSError):
        if own.family == socket.AF_UNIX:
            return bool(path) and own.getsockname() == path
        if own.family in (socket.AF_INET, socket.AF_INET6) and own.type == socket.SOCK_STREAM:
            return bool(port) and own.getsockname()[1] == port
    return False


def _is_listening(own: socket.socket) -> bool:
    with suppress(OSError):
        return bool(own.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
    return False
