"""Helper: a gRPC client that writes and reads HTTP/2 frames itself, one blocking step at a time.

A ping that is acknowledged proves that the server's library has received everything before it, also while
the server's event loop is blocked.
"""

from __future__ import annotations

import socket
import struct
from collections import defaultdict

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY = 0, 1, 3, 4, 6, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1
CANCEL = 8
INITIAL_WINDOW_SIZE = 4
"""A setting."""
PATIENCE = 60


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def _header(name: str, value: str) -> bytes:
    """Encode a header as a literal that is not indexed (RFC 7541, 6.2.2), without Huffman codes."""
    parts = (part.encode() for part in (name, value))
    return b"\0" + b"".join(bytes([len(part)]) + part for part in parts)


class RawChannel:
    """A connection, and the frames that it received, by stream."""

    def __init__(self, port: int, host: str = "127.0.0.1", *, window: int = 2**16 - 1) -> None:
        """`window`: how many bytes of each answer the client reads before it says otherwise."""
        self.socket = socket.create_connection((host, port), PATIENCE)
        self.frames: dict[int, list[tuple[int, int]]] = defaultdict(list)
        self._next = 1
        self.socket.sendall(PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", INITIAL_WINDOW_SIZE, window)))

    def send_call(self, method: str, message: bytes, **headers: str) -> int:
        """Send a whole unary call; return its stream."""
        stream = self.send_headers(method, **headers)
        body = b"\0" + struct.pack(">I", len(message)) + message
        self.socket.sendall(frame(DATA, END_STREAM, stream, body))
        return stream

    def cancel(self, stream: int) -> None:
        """Reset the stream of a call."""
        self.socket.sendall(frame(RST_STREAM, 0, stream, struct.pack(">I", CANCEL)))

    def send_headers(self, method: str, **more: str) -> int:
        """Begin a call, with more headers; return its stream."""
        stream, self._next = self._next, self._next + 2
        fields = {":method": "POST", ":scheme": "http", ":path": method, ":authority": "x",
                  "te": "trailers", "content-type": "application/grpc",
                  **{name.replace("_", "-"): value for name, value in more.items()}}  # fmt: skip
        head = b"".join(_header(name, value) for name, value in fields.items())
        self.socket.sendall(frame(HEADERS, END_HEADERS, stream, head))
        return stream

    def wait_until_received(self) -> None:
        """Wait until the server's library has received everything that was sent."""
        self.socket.sendall(frame(PING, 0, 0, b"received"))
        while self._read() != (PING, ACK):
            pass

    def read_ends(self, count: int) -> None:
        """Read until so many calls have ended."""
        while count:
            kind, flags = self._read() or (GOAWAY, 0)
            assert kind != GOAWAY
            count -= kind == RST_STREAM or (kind in (HEADERS, DATA) and bool(flags & END_STREAM))

    def read_all(self) -> None:
        """Read until the server closes the connection."""
        while self._read() is not None:
            pass

    def is_answered(self, stream: int) -> bool:
        """Whether a call got a message and a status."""
        kinds = [kind for kind, _ in self.frames[stream]]
        return DATA in kinds and self.frames[stream][-1] == (HEADERS, END_HEADERS | END_STREAM)

    def is_refused(self, stream: int) -> bool:
        """Whether a call got only a status."""
        return self.frames[stream] == [(HEADERS, END_HEADERS | END_STREAM)]

    def close(self) -> None:
        self.socket.close()

    def _read(self) -> tuple[int, int] | None:
        """Read a frame; return its kind and flags, None at the end."""
        head = self._exactly(9)
        if len(head) < 9:
            return None
        (length,) = struct.unpack(">I", b"\0" + head[:3])
        kind, flags, stream = struct.unpack(">BBI", head[3:])
        payload = self._exactly(length)
        if kind == PING and not flags & ACK:
            self.socket.sendall(frame(PING, ACK, 0, payload))
        self.frames[stream].append((kind, flags))
        return kind, flags

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count and (part := self._receive(count - len(data))):
            data += part
        return data

    def _receive(self, count: int) -> bytes:
        try:
            return self.socket.recv(count)
        except ConnectionError:
            return b""
